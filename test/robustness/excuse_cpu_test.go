package robustness

import (
	"cmp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pvesim"
)

// tooFewCPUs reports whether a machine can't start where it is, or on no node that it could
// be made on: these have fewer CPUs than it is to have.
func tooFewCPUs(st *pvesim.State, s *set, w *wish, vm *pvesim.VM) bool {
	if vm != nil {
		return st.Nodes[vm.Node].CPUs < number(cmp.Or(w.Options["cores"], vm.Pending["cores"], vm.Conf["cores"], "1"))
	}
	need := number(cmp.Or(w.Options["cores"], "1"))
	for _, from := range origins(st, s, w) {
		need = max(need, number(cmp.Or(w.Options["cores"], from.Conf["cores"], "1")))
	}
	for name, n := range st.Nodes {
		if n.CPUs >= need && canBeMadeOn(st, s, w, name) {
			return false
		}
	}
	return true
}

// origins are the guests that a machine can be made from.
func origins(st *pvesim.State, s *set, w *wish) (list []*pvesim.VM) {
	from := s.find(w.Source.VM.Name)
	for _, vm := range st.VMs {
		template := w.Source.Image.Name != "" && vm.Template() && vm.Name() == w.Source.Image.Name
		if template || from != nil && slices.Contains(owned(st)[from.Owner], vm.ID) {
			list = append(list, vm)
		}
	}
	return list
}

// canBeMadeOn reports whether a node may have a machine, and something to make it from: what
// is on local disks, or is to be, is copied on its own node only.
func canBeMadeOn(st *pvesim.State, s *set, w *wish, node string) bool {
	if len(w.Place.Nodes) > 0 && !slices.Contains(w.Place.Nodes, node) {
		return false
	}
	return w.Source.Blank || slices.ContainsFunc(origins(st, s, w), func(vm *pvesim.VM) bool {
		if to := st.Storages[w.Source.Storage]; vm.Node != node && to != nil && !to.Shared() {
			return false
		}
		return vm.Node == node || !slices.ContainsFunc(keysOf(vm.Conf), func(key string) bool {
			storage, _, ok := strings.Cut(vm.Conf[key], ":")
			return ok && isDrive(key) && !st.Storages[storage].Shared()
		})
	})
}

func keysOf(c pvesim.Conf) (keys []string) {
	for key := range c {
		keys = append(keys, key)
	}
	return keys
}
