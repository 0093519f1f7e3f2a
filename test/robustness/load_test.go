package robustness

import (
	"regexp"

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
	processes := max(r.h.world.sets, 1)
	if r.census.happened(runsTwice) {
		processes++
	}
	if n > mostTimeouts*processes {
		r.fail("%d tasks timed out waiting for the lock of a storage: too much was asked for at once", n)
	}
}
