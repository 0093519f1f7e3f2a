package observe

import (
	"net/netip"
	"slices"
	"time"

	"github.com/proxplane/proxplane/model"
)

// record is what is known of a guest: what the list says, and what was read or
// done beside it, with the time at which that was asked for.
type record struct {
	listed   model.Guest
	listedAt time.Time // zero: we made it, and no list shows it yet
	shaky    time.Time // the list of that time may be late about its power state
	touched  time.Time // when a list last showed that somebody may have done something to it
	booted   time.Time // when it was started, as far as the list's uptime tells
	made     time.Time // when we learnt of it without a list
	born     time.Time // when we have made it; zero: by others, or it was started or stopped since

	config   *model.Config
	missing  map[string]time.Time // when their storages were asked for volumes and didn't list them
	shownAt  time.Time            // when it was read whether Proxmox shows us its disks
	blind    bool                 // it doesn't
	unnamed  []string             // volumes with its VMID that are not its own, see unnamed.go
	lock     string               // beside the config
	template bool
	name     string
	configAt time.Time
	changed  time.Time // since when another config than the one read may hold

	snapshots []model.SnapshotInfo

	firewall      *model.SeenFirewall // nil: nobody wants to know, or it isn't known
	firewallAt    time.Time
	firewallDoubt time.Time // since when another one than the one read may hold

	status   model.Status
	statusAt time.Time
	unseen   bool         // that it runs was said by the task that started it, and by nobody else
	figures  figures      // beside the status
	stray    bool         // the process was there before the guest was made
	power    model.Status // the last one that was certain
	haState  string
	haAt     time.Time
	// haCleared is when the manager of high availability was asked to clear its error.
	haCleared time.Time
	// haMoving is when it was asked to take the guest to another node.
	haMoving time.Time

	// What a request may still change, see inFlight.
	heard    time.Time    // since when we know of all requests of ours that change it
	answered model.Aspect // what one of them has changed since, so that none of before is left
	lost     model.Aspect // what those change whose answers were lost
	lostAt   time.Time

	agent     model.Agent
	addresses []netip.Prefix
	started   time.Time // when we saw it start; zero: before our time
}

// figures are what a guest's status says beside the power state.
type figures struct {
	known        bool
	name         string
	cpus         int
	memory, disk int64
}

// guest puts together what the sources say: the younger one wins, where figures
// of the list count as older than they are.
func (r *record) guest() *model.Guest {
	g := r.listed
	if r.figures.known && r.statusAt.Add(lag).After(r.listedAt) {
		// The list may still show those of a guest that had the VMID before.
		g.Name, g.CPUs, g.Memory, g.Disk = r.figures.name, r.figures.cpus, r.figures.memory, r.figures.disk
	}
	g.StalePower = !r.sure()
	g.Unseen = r.unseen && r.statusAt.Add(lag).After(r.listedAt)
	switch {
	case r.sure():
		g.Status = r.status
	case r.late():
		g.Status = model.StatusUnknown
	case g.Status == model.StatusUnknown && r.status != "":
		g.Status = r.status
	}
	if r.haAt.After(r.listedAt) {
		g.HAState = r.haState
	}
	seen := later(r.haAt, r.listedAt)
	switch {
	case g.HAState == model.HAError && seen.Before(r.haCleared.Add(haRounds)):
		g.HAState = model.HAClearing
	case g.HAState == "started" && seen.Before(r.haMoving.Add(haRounds)):
		g.HAState = model.HAMigrate
	}
	if r.config != nil && r.configAt.After(r.listedAt) {
		g.Tags, g.Lock, g.Template = r.config.Tags, r.lock, r.template
	}
	if r.config == nil && (r.changed.After(r.listedAt) || len(r.missing) > 0) {
		g.Tags = doubted(g.Tags)
	}
	if r.config != nil && r.configAt.Add(lag).After(r.listedAt) && !(r.figures.known && r.statusAt.After(r.configAt)) {
		g.Name = r.name
	}
	g.Ahead = r.config != nil && r.configAt.After(r.listedAt)
	g.Config, g.Snapshots, g.Missing, g.Firewall = r.config, r.snapshots, r.lacking(), r.firewall
	g.Unnamed = r.unnamed
	g.Agent, g.Addresses = r.agent, r.addresses
	g.InFlight = r.inFlight()
	g.Shown = r.config != nil && !r.listedAt.IsZero() && slices.Equal(r.listed.Tags, r.config.Tags) && r.listed.Lock == r.lock
	g.Stray = r.stray && g.Status != model.StatusStopped
	return &g
}

// haRounds is how long the manager of high availability may take to do what it was asked
// for: some of its rounds, of 10 s each.
const haRounds = time.Minute

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// sure reports whether the power state is known from more than the list: it was read
// from the guest's node a moment ago, or lists have shown the same since.
func (r *record) sure() bool {
	return r.status != "" && (r.statusAt.Add(lag).After(r.listedAt) || r.status == r.listed.Status && !r.late())
}

// late reports whether there is a sign that the list is late about the power
// state: somebody started or stopped it just before, or changes wait for a
// restart, as they do only while it runs.
func (r *record) late() bool {
	return !r.shaky.IsZero() && r.shaky.Equal(r.listedAt) ||
		r.listed.Status == model.StatusStopped && r.config != nil && len(r.config.Pending) > 0
}

// list takes over what a list says that was asked for at a time.
func (r *record) list(listed model.Guest, uptime int64, at time.Time) {
	was := r.guest()
	known := !r.listedAt.IsZero()
	moved := known && r.listed.Node != listed.Node
	if r.listed, r.listedAt = listed, at; moved {
		r.haMoving, r.missing = time.Time{}, nil // other storages have its disks now
	}
	now := r.guest()
	restarted := r.restarted(listed.Status, uptime, at)
	if now.Status != was.Status || restarted || moved {
		r.forgetAgent()
	}
	if known && (now.Status != was.Status || restarted || moved || now.Name != was.Name) {
		r.touched = at
	}
	if r.config == nil && known && (now.Status != was.Status || restarted || moved) {
		r.forgetFirewall()
	}
	if r.config == nil || r.configAt.After(at) {
		return
	}
	// What the list shows of the config reports whether somebody changed it. A
	// guest that stopped or started has taken over what was pending.
	if r.resized(was, now, at) || !slices.Equal(listed.Tags, r.config.Tags) || listed.Lock != r.lock || listed.Template != r.template ||
		moved || restarted || now.Status != was.Status {
		r.forgetSince(at)
		r.touch(at)
	}
}

// touch records that somebody may have changed the guest. It may be another guest by now, with another
// firewall, which no list and no config shows.
func (r *record) touch(at time.Time) {
	r.touched = at
	r.forgetFirewall()
}

// resized reports whether the list shows another name or other sizes than before, which
// the config that was read can't account for.
func (r *record) resized(was, now *model.Guest, at time.Time) bool {
	switch {
	case !at.After(r.configAt.Add(lag)):
		return false // they may have changed before it was read
	case now.Name == "" || now.Memory == 0:
		return false // its node has reported nothing recently
	case accountsFor(r.config, r.name, now):
		return false
	}
	return was.Name != now.Name || was.CPUs != now.CPUs || was.Memory != now.Memory || was.Disk != now.Disk
}

// accountsFor reports whether a config says what a list shows of its guest. Lists are late: they may have shown
// something else before.
func accountsFor(c *model.Config, name string, listed *model.Guest) bool {
	return listed.Name == name && listed.CPUs == max(1, model.CPUsOf(c.Options)) && listed.Memory == model.MemoryOf(c.Options) &&
		(listed.Disk == 0 || slices.ContainsFunc(c.Disks, func(d model.Disk) bool { return d.Size == listed.Disk }))
}

// restarted reports, by the uptime, whether the guest was started since it was seen
// before. In its first second a guest runs and has none.
func (r *record) restarted(now model.Status, uptime int64, at time.Time) bool {
	if uptime <= 0 && (now != model.StatusRunning || r.booted.IsZero()) {
		r.booted = time.Time{}
		return false
	}
	booted := at.Add(-time.Duration(uptime) * time.Second)
	was := r.booted
	r.booted = booted
	const noise = 30 * time.Second
	if was.IsZero() || !booted.After(was.Add(noise)) {
		return false
	}
	// Our own start explains it.
	return r.started.IsZero() || booted.After(r.started.Add(noise))
}

// forgetConfig drops what was read, and what is being read right now: it has just
// changed.
func (r *record) forgetConfig() { r.forgetSince(time.Now()) }

// forgetSince drops what was read and asked for before a time.
func (r *record) forgetSince(changed time.Time) {
	r.config, r.snapshots = nil, nil
	if changed.After(r.changed) {
		r.changed = changed
	}
}

func (r *record) forgetAgent() { r.agent, r.addresses = model.AgentUnasked, nil }

// running since when; zero: unknown.
func (r *record) since() time.Time {
	if !r.started.IsZero() {
		return r.started
	}
	return r.booted
}

// doubted returns tags that still name the owner of a guest, but don't show any more that
// it is up to date: its config was changed since they were listed.
func doubted(tags []string) []string {
	owner, _, ok := model.ParseStateTag(tags)
	if !ok {
		return tags
	}
	out := slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return t != model.Tag && !model.IsSetTag(t) && model.IsMark(t) })
	return append(out, model.TagPrefix+owner+".doubted")
}
