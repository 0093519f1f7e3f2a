package robustness

import (
	"regexp"

	"github.com/proxplane/proxplane/pvesim"
)

// Most that may go wrong because of too much at once: eight are begun before anything
// is known of a storage, and may all be too much. After that less is asked for at once.
const mostTimeouts = 12

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
	if r.census.happened(faultStoreLock) || r.census.happened(faultSlow) {
		return // others keep it busy, or it takes its time
	}
	r.census.timeouts = n
	if n > mostTimeouts {
		r.fail("%d tasks timed out waiting for the lock of a storage: too much was asked for at once", n)
	}
}
