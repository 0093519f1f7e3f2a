package engine_test

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

// The local storages of several nodes have one name, and files of one name.
func TestFirstBootDataOnAnotherNodeIsNotTakenForOurs(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		vm := seeded("web")
		vm.Place.Nodes, vm.Seed.Storage = []string{"pve1"}, "local"
		l.mustConverge(desired(vm))
		l.vanish("web") // its file stays on pve1
		vm.Place.Nodes = []string{"pve2"}
		l.mustConverge(desired(vm))
		if got := l.named("web"); got == nil || got["node"] != "pve2" || !strings.Contains(got["ide0"], "iso/proxplane-") {
			t.Errorf("it is %v", got)
		}
		vm.Deleted = true
		l.mustConverge(desired(vm))
		l.sim.Do(func(s *pvesim.State) {
			for key, sp := range s.Spaces {
				for name := range sp.Volumes {
					if strings.HasPrefix(name, "iso/proxplane-") {
						t.Errorf("%s is left on %s of %q", name, key.Storage, key.Node)
					}
				}
			}
		})
	})
}
