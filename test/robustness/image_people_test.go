package robustness

import (
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// templateMeddled: somebody does something to a template of ours.
func (a *author) templateMeddled() {
	i, name, node := a.setIndex(), pick(a.dice, a.h.world.names()...), pick(a.dice, a.h.world.nodes...)
	a.add(othersDestroy, a.soon(), func(r *run) { r.others.destroyTemplate(r.sets[i].image(name), node) }, "somebody destroys the template of %s/%s on %s", setNames[i], name, node)
}

// destroyTemplate destroys a template of ours on a node, if there is one.
func (o *others) destroyTemplate(i *imageWish, node string) {
	id := 0
	o.run.sim.Do(func(st *pvesim.State) {
		for _, vm := range st.VMs {
			_, m, ok := model.ParseDescription(vm.Conf["description"])
			if ok && m.Of(vm.ID) && m.Owner.Key == i.Owner.Key && m.Owner.Set == i.Owner.Set && vm.Node == node && vm.Template() && len(linkedTo(st, vm.ID)) == 0 {
				id = max(id, vm.ID)
			}
		}
	})
	if id != 0 {
		o.meddleWith(othersDestroy, id, func(o *others, id int) bool { return o.destroy(id) })
	}
}
