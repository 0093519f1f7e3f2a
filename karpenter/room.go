package karpenter

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
)

// zone is a Proxmox node with what it has left.
type zone struct {
	region, node string
	free         int64  // bytes of memory
	cpus         int64  // that one machine can have
	freeCPUs     int64  // virtual ones, by the factor
	guests       int    // that run
	closed       string // why it takes nothing; empty: it does
	needs        need   // what machines of the class take beside memory and CPUs
	unseen       []need // the same of machines that are being made and that no list shows
	room         *room  // of the storage of the disk; nil: nobody knows
	pins         *host  // what machines can be pinned to; nil: they aren't
}

func (z zone) String() string { return z.region + "/" + z.node }

// zonesOf are the nodes of a region with what they have left. CPUs of a node count as factor virtual ones.
//
// Memory counts as Proxmox reports it, or as guests that run may take it, if that is more: a machine
// that has just booted uses little of what it was promised.
func zonesOf(r *Region, have *model.Observed, factor float64) []zone {
	promised, cpus, running := map[string]int64{}, map[string]int64{}, map[string]int{}
	for id, g := range have.Guests {
		if _, coming := have.Placed[id]; coming || g.Template || g.Status == model.StatusStopped {
			continue
		}
		promised[g.Node] += g.Memory
		cpus[g.Node] += int64(g.CPUs)
		running[g.Node]++
	}
	coming := map[string]int64{}
	for _, p := range have.Placed {
		coming[p.Node] += p.Memory
		running[p.Node]++
	}
	var all []zone
	for _, name := range model.NamesOf(have.Nodes) {
		if len(r.Cluster.Nodes) > 0 && !slices.Contains(r.Cluster.Nodes, name) {
			continue
		}
		n := have.Nodes[name]
		facts := model.Place{Facts: r.Cluster.Facts}.FactsOf(name)
		z := zone{region: r.Name, node: name, cpus: int64(n.CPUs), guests: running[name]}
		z.free = max(0, n.Memory-max(n.Used, promised[name])-coming[name]-facts.Reserved)
		z.freeCPUs = max(0, int64(float64(n.CPUs)*factor)-cpus[name])
		switch {
		case !n.Online:
			z.closed = "offline"
		case n.Maintenance, facts.Maintenance:
			z.closed = "in maintenance"
		}
		all = append(all, z)
	}
	return all
}

// unfit says why a machine of a size can't be made in the zone; empty: it can.
func (z zone) unfit(s Size) string {
	switch {
	case z.closed != "":
		return z.closed
	case s.cpus() > z.cpus:
		return fmt.Sprintf("%d CPUs, %d needed", z.cpus, s.cpus())
	case z.pins != nil && s.cpus() > z.pins.room():
		return fmt.Sprintf("%d CPUs that nobody is pinned to, %d needed", z.pins.room(), s.cpus())
	case z.pins == nil && s.cpus() > z.freeCPUs:
		return fmt.Sprintf("%d virtual CPUs free, %d needed", z.freeCPUs, s.cpus())
	case s.memory() > z.free:
		return fmt.Sprintf("%s of memory free, %s needed", model.Bytes(z.free), model.Bytes(s.memory()))
	case z.room != nil:
		return z.room.crowded(s.disk())
	}
	return ""
}

// backoff is for how long zones are left alone in which machines couldn't be made. It keeps Karpenter from making
// and removing machines for ever.
type backoff struct {
	mu    sync.Mutex
	now   func() time.Time
	zones map[string]trouble
}

// trouble is what went wrong in a zone, for a size or for all.
type trouble struct {
	text  string
	times int
	until time.Time
}

const (
	firstPause = time.Minute
	lastPause  = 30 * time.Minute
)

func newBackoff(now func() time.Time) *backoff {
	return &backoff{now: now, zones: map[string]trouble{}}
}

// failed notes that a machine couldn't be made in a zone, and returns when the zone is tried again. Of an empty
// size it holds for all.
func (b *backoff) failed(z zone, size, text string) time.Time {
	return b.note(z.String()+" "+size, text)
}

// unjoined notes that a machine of a class didn't become a node, and returns when the next one is made.
func (b *backoff) unjoined(class, text string) time.Time { return b.note(classKey(class), text) }

// refused notes that no machine of a class can be made as it is declared now, and returns when that is tried again: soon, since people correct it.
func (b *backoff) refused(class, text string) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.zones[classKey(class)]
	if until := b.now().Add(firstPause); until.After(t.until) {
		t.text, t.until = text, until
	}
	b.zones[classKey(class)] = t
	return t.until
}

// joined notes that one did.
func (b *backoff) joined(class string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.zones, classKey(class))
}

// classKey is what a class is known by among zones, whose names have no space at their beginning.
func classKey(name string) string { return " " + name }

// note notes that something failed, and returns when it is tried again.
func (b *backoff) note(key, text string) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.zones[key]
	t.times++
	t.text, t.until = text, b.now().Add(min(lastPause, firstPause<<min(t.times-1, 10)))
	b.zones[key] = t
	return t.until
}

// worked notes that a machine was made in a zone.
func (b *backoff) worked(z zone, size string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.zones, z.String()+" "+size)
	delete(b.zones, z.String()+" ")
}

// why says why a zone is left alone for a size and a class; empty: it isn't.
func (b *backoff) why(z zone, size, class string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range []string{z.String() + " " + size, z.String() + " ", classKey(class)} {
		if t, ok := b.zones[key]; ok && b.now().Before(t.until) {
			return fmt.Sprintf("%s; it is tried again after %s", t.text, t.until.Format(time.TimeOnly))
		}
	}
	return ""
}

// left is how long it is until a moment, for people.
func (b *backoff) left(until time.Time) time.Duration { return until.Sub(b.now()).Round(time.Second) }

// refusals are why no machine can be made, by what is said of a zone, with the sizes that it is said of.
type refusals map[[2]string][]string

// String says each reason once. A zone that is left alone would say the same of every size otherwise.
func (r refusals) String() string {
	var all []string
	for at, sizes := range r {
		of := sizes[0]
		if n := len(sizes) - 1; n == 1 {
			of += " and " + sizes[1]
		} else if n > 1 {
			of += fmt.Sprintf(" and %d other sizes", n)
		}
		all = append(all, fmt.Sprintf("%s for %s: %s", at[0], of, at[1]))
	}
	return reasons(all)
}

// reasons puts together why no zone is good.
func reasons(list []string) string {
	slices.Sort(list)
	return strings.Join(slices.Compact(list), "; ")
}
