package robustness

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pvesim"
)

// Most that may go wrong because one process asks for too much at once: when that
// happens, it asks for less, so it doesn't happen often. What others ask for at the
// same time it can't know.
const mostTimeouts = 6

var storageTimeout = regexp.MustCompile(`pve-storage-\S+' - got timeout|cfs-lock 'storage-\S+' error: got lock request timeout`)

// notTooMuch checks that Proxmox didn't run into timeouts again and again because we
// asked too much of a storage at once.
func (r *run) notTooMuch() {
	n := 0
	r.sim.Do(func(s *pvesim.State) {
		for _, list := range s.Tasks {
			for _, t := range list {
				for _, line := range t.Log {
					if storageTimeout.MatchString(line) {
						n++
						break
					}
				}
			}
		}
	})
	switch {
	case r.census.happened(faultStoreLock), r.census.happened(faultSlow):
		return // others keep it busy, or it takes its time
	case r.census.happened(faultExpired), r.census.happened(faultPassword):
		return // its clock has jumped, and all who waited have waited for too long at that moment
	}
	r.census.timeouts = n
	processes := max(r.h.world.sets, 1) + r.census.times(runsTwice)
	if n > mostTimeouts*processes {
		r.fail("%d tasks timed out waiting for the lock of a storage: too much was asked for at once", n)
	}
}

// mostInVain is how often a machine may be started on a node that has too few CPUs for it:
// somebody may have moved or changed it just before.
const mostInVain = 2

// notInVain checks that nothing is started again and again that its node has too few CPUs
// for: to wait doesn't help.
func (r *run) notInVain() {
	starts := map[string]int{}
	r.sim.Do(func(s *pvesim.State) {
		for _, list := range s.Tasks {
			for _, t := range list {
				ours := strings.HasSuffix(t.User, "!us") || r.h.world.password && t.User == "root@pam" && !r.ha()
				if ours && t.Type == "qmstart" && strings.Contains(t.Exit, "vcpus allowed per VM") {
					starts[t.ID]++
				}
			}
		}
	})
	for _, id := range slices.Sorted(maps.Keys(starts)) {
		if starts[id] > mostInVain {
			r.fail("VM %s was started %d times on a node that has too few CPUs for it", id, starts[id])
		}
	}
}

// ha reports whether the HA manager works, which does all as root.
func (r *run) ha() bool { return r.h.world.Cluster != "" && len(r.h.world.nodes) > 2 }
