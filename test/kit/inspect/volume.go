package inspect

import (
	"strings"

	"github.com/proxplane/proxplane/pvesim"
)

// Volumes are all volumes, as node/storage:name; the node of shared storages is
// empty.
func Volumes(s *pvesim.State) map[string]pvesim.Volume {
	out := map[string]pvesim.Volume{}
	for key, sp := range s.Spaces {
		for name, v := range sp.Volumes {
			out[key.Node+"/"+key.Storage+":"+name] = *v
		}
	}
	return out
}

// VolumeOf finds the volume that a drive's value names, as [Volumes] spells it;
// empty: there is none.
func VolumeOf(s *pvesim.State, node, value string) string {
	volume, _, _ := strings.Cut(value, ",")
	storage, name, ok := strings.Cut(volume, ":")
	if !ok {
		return ""
	}
	for _, key := range []pvesim.SpaceKey{{Storage: storage, Node: node}, {Storage: storage}} {
		sp := s.Spaces[key]
		if sp == nil {
			continue
		}
		// A linked clone's name has its base before it.
		for rest := name; rest != ""; {
			if sp.Volumes[rest] != nil {
				return key.Node + "/" + key.Storage + ":" + rest
			}
			_, rest, _ = strings.Cut(rest, "/")
		}
	}
	return ""
}

// Used are the volumes that some machine's config names.
func Used(s *pvesim.State) map[string]bool {
	out := map[string]bool{}
	use := func(node string, c pvesim.Conf) {
		for _, value := range c {
			if name := VolumeOf(s, node, value); name != "" {
				out[name] = true
			}
		}
	}
	for _, vm := range s.VMs {
		use(vm.Node, vm.Conf)
		use(vm.Node, vm.Pending)
		for _, snap := range vm.Snaps {
			use(vm.Node, snap.Conf)
		}
	}
	return out
}
