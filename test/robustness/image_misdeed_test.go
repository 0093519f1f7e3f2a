package robustness

import (
	"net/http"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// imageMisdeeds are misdeeds against templates. The one that vm-a was cloned from is theirs.
var imageMisdeeds = []misdeed{
	{"a template is destroyed that is wanted", func(r *run, id int) {
		time.Sleep(grace + time.Minute)
		r.misbehave(http.MethodDelete, id, "")
	}, `^VM \d+ is the template of vmimage/cloud as it is wanted, and is to be destroyed`},
	{"a process works on a template of another set", func(r *run, id int) {
		r.misbehaves("two#99", http.MethodPut, id, "/config", "tags", "x")
	}, `^a process of another set changes VM \d+, a template of set one`},
	{"there are two templates on a node", func(r *run, id int) {
		r.twin(id, r.sets[0].image("cloud").Version()+"@pve9", true)
		r.imagesAsWanted(r.sets[0])
	}, `there are two templates of cloud on pve\d: \d+ and 7777`},
	{"an earlier template stays that nothing hangs on", func(r *run, id int) {
		r.twin(id, "0123@pve1", true)
		r.imagesAsWanted(r.sets[0])
	}, `template 7777 of cloud on pve\d is an earlier one that nothing hangs on`},
	{"a template is half made", func(r *run, id int) {
		r.twin(id, "0123@pve1", false)
		r.imagesAsWanted(r.sets[0])
	}, `VM 7777 was to be a template of cloud on pve\d and isn't`},
	{"a node has no template that was to have one", func(r *run, _ int) {
		r.sets[0].image("cloud").Ahead = []string{model.AllNodes}
		r.imagesAsWanted(r.sets[0])
	}, `pve\d has no template of cloud`},
}

// twin makes a guest like the template, of another generation or node.
func (r *run) twin(id int, generation string, template bool) {
	r.sim.Do(func(s *pvesim.State) {
		twin := *s.VMs[id]
		twin.ID, twin.Conf = 7777, pvesim.Conf{"name": "cloud"}
		_, m, _ := model.ParseDescription(s.VMs[id].Conf["description"])
		m.VMID, m.Owner.UID = twin.ID, generation
		twin.Conf["description"] = model.Describe("", m)
		if template {
			twin.Conf["template"] = "1"
		}
		s.VMs[twin.ID] = &twin
	})
}

// TestEachCheckOfImagesCanFail shows by a misdeed for each check that it can.
func TestEachCheckOfImagesCanFail(t *testing.T) { areFound(t, imageMisdeeds, misdeed.imageHistory) }

func TestWithoutAMisdeedNothingIsWrongWithImages(t *testing.T) {
	findsNothing(t, misdeed.imageHistory)
}

// imageHistory is one of two sets on two nodes, where nothing goes wrong but the misdeed.
func (m misdeed) imageHistory() *history {
	h := &history{seed: 1, world: drawWorld(1)}
	h.world.spreadOut(newDice(1, "images"))
	h.world.sets, h.world.fetched, h.world.imageStorage = 2, "cloud", "local"
	v := model.VM{
		Name: "vm-a", Range: h.world.vmids, Source: model.Source{Image: key("VMImage", "cloud")}, Options: map[string]string{}, Managed: []string{},
		Disks: []model.Disk{{Slot: model.RootSlot, Name: "root"}},
	}
	h.events = []event{
		{0, wishCreate, "vm-a is wanted", func(r *run) { r.sets[0].ask("vm-a", v) }},
		{0, rests, "rest", (*run).settle},
		{0, "misdeed", m.what, func(r *run) {
			r.watch.look()
			m.do(r, r.templateOf(r.sets[0].image("cloud")))
			r.watch.look()
		}},
	}
	return h
}

// templateOf is a template of an image.
func (r *run) templateOf(i *imageWish) (id int) {
	r.sim.Do(func(s *pvesim.State) {
		for _, vm := range s.VMs {
			_, m, ok := model.ParseDescription(vm.Conf["description"])
			if of, image := r.imageOf(m.Owner); ok && of != nil && image == i && vm.Template() {
				id = vm.ID
			}
		}
	})
	return id
}
