package robustness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// kind is a kind of event, as the census names it.
type kind string

// What people ask of us.
const (
	wishCreate   kind = "create"
	wishClone    kind = "clone another machine"
	wishChange   kind = "change an option"
	wishClass    kind = "move to another class"
	wishGrow     kind = "grow a disk"
	wishDisk     kind = "add or drop a disk"
	wishNIC      kind = "add, change or drop a NIC"
	wishPower    kind = "power"
	wishSnapshot kind = "snapshot"
	wishUnsnap   kind = "delete a snapshot"
	wishRevert   kind = "revert to a snapshot"
	wishLabels   kind = "tags and description"
	wishSeed     kind = "first-boot data"
	wishStanding kind = "pool and HA"
	wishDelete   kind = "delete"
	wishPrune    kind = "prune"
	wishCrowd    kind = "many machines at once"
	wishMoveDisk kind = "disks on another storage"
	wishMoveTo   kind = "on another node"
	wishAddress  kind = "an address from a pool"
	wishFirewall kind = "another firewall"
)

// What goes wrong.
const (
	faultAnswer     kind = "answer " // followed by the status
	faultRefused    kind = "connections refused"
	faultBefore     kind = "dropped before it was done"
	faultAfter      kind = "dropped after it was done"
	faultLate       kind = "answer late"
	faultTooLate    kind = "answer later than we wait"
	faultConfigLock kind = "lock of a VM held by others"
	faultStoreLock  kind = "lock of a storage held by others"
	faultTask       kind = "task fails"
	faultDidIt      kind = "task says it failed, and did it"
	faultDidNothing kind = "task says it did it, and didn't"
	faultTaskLate   kind = "task late"
	faultFull       kind = "storage full"
	faultSlow       kind = "storage slow"
	faultOffline    kind = "node offline and back"
	faultGone       kind = "node unreachable and back"
	faultAway       kind = "node lost at a request"
	faultRecycled   kind = "worker recycled"
	faultExpired    kind = "ticket expired"
	faultToken      kind = "token revoked and given back"
	faultPassword   kind = "password changed and back"

	faultMaintenance kind = "node in maintenance and back"
)

// What happens to our process.
const (
	crashBefore kind = "crash before a request is sent"
	crashWhile  kind = "crash before it is answered"
	crashAfter  kind = "crash after the answer"
	runsTwice   kind = "two of us at once"
	rests       kind = "rest"
)

// What others do.
const (
	othersTake     kind = "take our VMID just before us"
	othersEdit     kind = "edit the config"
	othersMove     kind = "move our VM"
	othersStop     kind = "stop our VM"
	othersStart    kind = "start our VM"
	othersReset    kind = "reset our VM"
	othersDestroy  kind = "delete our VM"
	othersNamesake kind = "make a VM with our name"
	othersUntag    kind = "remove our tags"
	othersRestore  kind = "restore an old backup of it"
	othersTakeOver kind = "make our VM theirs"
	othersClone    kind = "clone our VM"
	othersReuse    kind = "delete our VM, reuse its VMID"
	othersSly      kind = "reuse its VMID just before our last look"
	othersSnapshot kind = "take a snapshot of it"
	othersLock     kind = "lock it for a backup"
	othersStrip    kind = "take it out of pool and HA"
	othersRescue   kind = "attach a disk that was left"
	othersTemplate kind = "make it a template"
	othersDisk     kind = "put a disk where a CD-ROM drive is"
	othersDrive    kind = "put a CD-ROM drive where a disk is"
	othersFirewall kind = "open its firewall"
	othersAddress  kind = "give it another address"
	othersPool     kind = "make a VM with an address of the pool"
)

// chapter is a part of the census.
type chapter struct {
	title string
	kinds []kind
}

var chapters = []chapter{
	{"wishes", []kind{
		wishCreate, wishClone, wishChange, wishClass, wishGrow, wishDisk, wishNIC, wishPower, wishSnapshot, wishUnsnap, wishRevert,
		wishLabels, wishSeed, wishStanding, wishDelete, wishPrune, wishCrowd, wishMoveDisk, wishMoveTo, wishAddress, wishFirewall,
	}},
	{"faults", append(statusKinds(), faultRefused, faultBefore, faultAfter, faultLate, faultTooLate, faultConfigLock, faultStoreLock,
		faultTask, faultDidIt, faultDidNothing, faultTaskLate, faultFull, faultSlow, faultOffline, faultGone, faultAway, faultRecycled,
		faultExpired, faultToken, faultPassword, faultMaintenance)},
	{"our process", []kind{crashBefore, crashWhile, crashAfter, runsTwice}},
	{"moves by hand", []kind{handDrain, handUndrain, handMove}},
	{"other people", []kind{
		othersTake, othersEdit, othersMove, othersStop, othersStart, othersReset, othersDestroy, othersNamesake, othersUntag, othersRestore,
		othersTakeOver, othersClone, othersReuse, othersSly, othersSnapshot, othersLock, othersStrip, othersRescue,
		othersTemplate, othersDisk, othersDrive, othersFirewall, othersAddress, othersPool,
	}},
}

func statusKinds() (list []kind) {
	for _, status := range slices.Sorted(maps.Keys(badAnswers)) {
		list = append(list, statusKind(status))
	}
	return list
}

func statusKind(status int) kind { return faultAnswer + kind(fmt.Sprint(status)) }

// tally is how often something happened.
type tally struct {
	drawn int
	told  int // how often it made a difference
}

// census counts what histories were made of.
type census struct {
	mu       sync.Mutex
	kinds    map[kind]tally
	did      map[string]int // requests of ours that Proxmox accepted
	excuses  map[string]int // what wasn't as it should be in the end, for a good reason
	seeds    int
	requests int
	busiest  int
	timeouts int // of locks, of one process
}

func newCensus() *census {
	return &census{kinds: map[kind]tally{}, did: map[string]int{}, excuses: map[string]int{}}
}

func (c *census) count(k kind, drawn, told int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.kinds[k]
	t.drawn += drawn
	t.told += told
	c.kinds[k] = t
}

// excuse counts what wasn't as it should be in the end, for a good reason.
func (c *census) excuse(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.excuses[what]++
}

// happened reports whether something was drawn, and may have made a difference.
func (c *census) happened(k kind) bool { return c.times(k) > 0 }

// times is how often something was drawn.
func (c *census) times(k kind) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kinds[k].drawn
}

// add adds what one history was made of.
func (c *census) add(o *census) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for k, t := range o.kinds {
		c.count(k, t.drawn, t.told)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, n := range o.did {
		c.did[k] += n
	}
	for k, n := range o.excuses {
		c.excuses[k] += n
	}
	c.seeds++
	c.requests += o.requests
	c.busiest, c.timeouts = max(c.busiest, o.busiest), max(c.timeouts, o.timeouts)
}

// requests counts what was asked for.
func (c *census) read(t *trace) {
	for _, e := range t.entries {
		switch {
		case e.method == "" || !e.ours:
			continue
		case e.write() && e.status/100 == 2:
			c.did[e.deed()]++
		}
		c.requests++
	}
}

// deeds are the changes that we make, as the census names them.
var deeds = []string{
	"clone", "create", "config", "resize", "start", "stop", "shutdown", "reboot", "snapshot", "snapshot deleted", "rollback", "disk moved", "migrate", "destroy",
	"upload", "file deleted", "HA", "pool", "firewall",
}

// deed names a change.
func (e *entry) deed() string {
	call, _, _ := strings.Cut(strings.TrimPrefix(e.call(), "status/"), "/")
	switch {
	case strings.HasSuffix(e.path, "/upload"):
		return "upload"
	case strings.Contains(e.path, "/content/"):
		return "file deleted"
	case strings.HasPrefix(e.path, "/cluster/ha/"):
		return "HA"
	case strings.HasPrefix(e.path, "/pools"):
		return "pool"
	case strings.HasPrefix(e.path, "/access/"):
		return "login"
	case strings.HasSuffix(e.path, "/qemu"):
		return "create"
	case strings.HasSuffix(e.path, "/rollback"):
		return "rollback"
	case call == "snapshot" && e.method == "DELETE":
		return "snapshot deleted"
	case call == "" && e.method == "DELETE":
		return "destroy"
	case call == "move_disk":
		return "disk moved"
	}
	return call
}

func (c *census) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d histories, %d requests of ours, at most %d of one process within a minute, at most %d timeouts of locks of one process\n", c.seeds, c.requests, c.busiest, c.timeouts)
	for _, ch := range chapters {
		fmt.Fprintf(&b, "%-42s %7s %7s\n", ch.title, "drawn", "told")
		for _, k := range ch.kinds {
			fmt.Fprintf(&b, "  %-40s %7d %7d\n", k, c.kinds[k].drawn, c.kinds[k].told)
		}
	}
	fmt.Fprintf(&b, "what we did\n")
	for _, name := range deeds {
		fmt.Fprintf(&b, "  %-40s %15d\n", name, c.did[name])
	}
	fmt.Fprintf(&b, "what can't be up to date, or isn't ours to remove\n")
	for _, what := range slices.Sorted(maps.Keys(c.excuses)) {
		fmt.Fprintf(&b, "  %-64s %7d\n", what, c.excuses[what])
	}
	return b.String()
}

// lacking are the kinds that never made a difference, and the deeds that were
// never done.
func (c *census) lacking() (list []string) {
	for _, ch := range chapters {
		for _, k := range ch.kinds {
			if c.kinds[k].told == 0 {
				list = append(list, string(k))
			}
		}
	}
	for _, name := range deeds {
		if c.did[name] == 0 {
			list = append(list, name)
		}
	}
	return list
}

// tells notes that an event has made a difference.
func (r *run) tells(k kind) { r.census.count(k, 0, 1) }
