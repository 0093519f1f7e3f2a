package robustness

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pvesim"
)

// How many tasks of one process may time out waiting for the lock of a storage. What is under way
// when the first of them does was asked for before anybody could know: a process begins with 8 at
// once, and takes twice as many when it sees that they don't wait for long. After that it asks for
// less, so it doesn't happen often. The next process has to learn it anew. What others ask for at the
// same time it can't know.
const (
	mostInBurst  = 16
	mostTimeouts = 6
)

var storageTimeout = regexp.MustCompile(`pve-storage-\S+' - got timeout|cfs-lock 'storage-\S+' error: got lock request timeout`)

// notTooMuch checks that Proxmox didn't run into timeouts again and again because one
// process asked too much of a storage at once.
func (r *run) notTooMuch() {
	timeouts := r.timeouts()
	switch {
	case r.census.happened(faultStoreLock), r.census.happened(faultSlow):
		return // others keep it busy, or it takes its time
	case r.census.happened(faultExpired), r.census.happened(faultPassword):
		return // its clock has jumped, and all who waited have waited for too long at that moment
	}
	atOnce := max(r.h.world.sets, 1) + r.census.times(runsTwice)
	for _, who := range slices.Sorted(maps.Keys(timeouts)) {
		burst, later := 0, 0
		for _, t := range timeouts[who] {
			if t.Start.After(timeouts[who][0].End) {
				later++
			} else {
				burst++
			}
		}
		r.census.timeouts = max(r.census.timeouts, burst+later)
		if burst > mostInBurst*atOnce || later > mostTimeouts*atOnce {
			r.fail("%d tasks of %s timed out waiting for the lock of a storage, and %d that it began after the first of them: too much was asked for at once", burst, who, later)
		}
	}
}

// timeouts are the tasks of our processes that have waited in vain for the lock of a storage, those
// that ended first at first.
func (r *run) timeouts() map[string][]pvesim.TaskInfo {
	began := r.trace.tasks()
	timeouts := map[string][]pvesim.TaskInfo{}
	r.sim.Do(func(s *pvesim.State) {
		for _, list := range s.Tasks {
			for _, t := range list {
				if who := began[t.UPID]; who != "" && slices.ContainsFunc(t.Log, storageTimeout.MatchString) {
					timeouts[who] = append(timeouts[who], *t)
				}
			}
		}
	})
	for _, list := range timeouts {
		slices.SortFunc(list, func(a, b pvesim.TaskInfo) int { return a.End.Compare(b.End) })
	}
	return timeouts
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
