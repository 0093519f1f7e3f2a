package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// A guest on a node that its placement policy doesn't allow is moved to one that it does, if
// that is allowed. It may have come there by hand, by the manager of high availability, or the
// policy was another one.

// migrate plans the move of a guest to a node that its policy allows. It reports whether it has added steps or a wait.
func (c *change) migrate(after ...int) bool {
	why := c.offPolicy()
	c.noteLimits()
	if why == "" {
		return false
	}
	if c.unready() {
		return true
	}
	to, no := c.p.destination(c)
	switch {
	case to == "":
		c.o.note("%s; it stays there, since no node can take it (%s)", why, no)
		return false
	case !c.p.allows(c.v).Move:
		c.o.Notes = append(c.o.Notes, Note{Text: why + "; it stays there", Do: model.Advice{Do: model.AllowMove, Node: to}})
		return false
	}
	c.goTo(to, why, after...)
	return true
}

// unready reports whether the guest can't be moved yet: facts about it aren't known, or the HA manager works on
// it.
func (c *change) unready() bool {
	if c.g.Status == model.StatusUnknown {
		c.o.Look.Status = append(c.o.Look.Status, c.g.VMID)
		return true
	}
	if c.g.HAState == model.HAMigrate || c.g.HAState == model.HARelocate {
		c.o.wait(model.WaitPending, "the HA manager is to migrate it")
		return true
	}
	if c.g.Snapshots == nil && (len(c.have.Marker.Old) > 0 || slices.ContainsFunc(c.have.Disks, c.p.local)) {
		c.o.Look.Snapshots = append(c.o.Look.Snapshots, c.g.VMID)
		return true
	}
	if c.p.lookMappings(&c.o.Look, c.have.Options) {
		return true
	}
	if c.g.HAState != "" && c.p.have.HA == nil {
		c.o.Look.HA = true
		return true
	}
	return false
}

// goTo plans the migration itself.
func (c *change) goTo(node, why string, after ...int) {
	c.o.step(Step{
		Action: model.Migrate{Target: c.target(), To: node, Running: c.running()},
		What:   fmt.Sprintf("migrate VM %d to %s", c.g.VMID, node), Why: why, Diff: one(differs(model.FieldNode, c.g.Node, node), Moves), Effect: Moves,
	}, after...)
	c.p.nodeLoad().take(node, c.g.Memory, c.v)
}

// offPolicy returns the reason for which the guest should leave its node; empty: it may stay.
func (c *change) offPolicy() string {
	if nodes := c.v.Place.Nodes; len(nodes) > 0 && !slices.Contains(nodes, c.g.Node) {
		return fmt.Sprintf("it is on %s, and may be on %s only", c.g.Node, strings.Join(nodes, ", "))
	}
	if why := c.p.unwelcome(c.v, c.g); why != "" {
		return why
	}
	load := c.p.nodeLoad()
	for _, at := range load.around(&c.v, c.g.Node) {
		for i := range load.labels[at] {
			other := &load.labels[at][i]
			by, ok := clash(&c.v, other, c.g.Node, at)
			switch {
			case !ok || other.Deleted || model.CompareNames(other.Name, c.v.Name) >= 0: // of two that must not share a node, one stays
			case at == c.g.Node:
				return fmt.Sprintf("anti-affinity with %s, which is on %s, too", other.Name, at)
			default:
				return fmt.Sprintf("anti-affinity with %s, which is on %s%s, too", other.Name, at, zoneText(c.v, at, by))
			}
		}
	}
	return ""
}

// unwelcome says why a guest shouldn't be on its node, by what people say about nodes; empty: it may be
// there. What is under HA the manager takes away from a node in maintenance by itself.
func (p *planner) unwelcome(v model.VM, g *model.Guest) string {
	n := p.have.Nodes[g.Node]
	if n == nil || n.Maintenance && g.HAState != "" {
		return ""
	}
	why := p.closed(v, n)
	switch {
	case !why.no():
		return ""
	case inMaintenance(v, n):
		return fmt.Sprintf("it is on %s, which is in maintenance", g.Node)
	}
	return fmt.Sprintf("it is on %s, which its placement doesn't allow (%s)", g.Node, why.reason)
}

// noteLimits adds notes about limits of the policy that the guest's node exceeds. They apply when guests are
// placed.
func (c *change) noteLimits() {
	place, n := c.v.Place, c.p.have.Nodes[c.g.Node]
	if have := c.p.nodeLoad().count[c.g.Node]; place.MaxPerNode > 0 && have > place.MaxPerNode {
		c.o.note("%s has %s, more than the %d of its placement policy, which is for new machines", c.g.Node, plural(have, "VM"), place.MaxPerNode)
	}
	if free := n.Memory - n.Used; place.MinFree > 0 && n.Memory > 0 && n.Used > 0 && free < place.MinFree {
		c.o.note("%s has %s of memory free, less than the %s of its placement policy, which is for new machines", c.g.Node, model.Bytes(max(0, free)), model.Bytes(place.MinFree))
	}
}

// destination chooses the node that a guest is moved to: of those that its policy allows and
// that have all that it needs, the one with the most memory left.
func (p *planner) destination(c *change) (to string, no refusals) {
	load := p.nodeLoad()
	var good []*model.Node
	for _, n := range p.nodesFor(c.v) {
		if n.Name == c.g.Node {
			continue
		}
		if reason := p.movable(c, n, load); reason != "" {
			no.add(n.Name, never("%s", reason))
			continue
		}
		good = append(good, n)
	}
	if len(good) == 0 {
		if len(no) == 0 {
			no.add(c.g.Node, never("the only node"))
		}
		return "", no
	}
	var spots []spot
	free := map[string]int64{}
	for _, n := range good {
		spots, free[n.Name] = append(spots, spot{node: n.Name}), load.free(n, c.v)
	}
	return p.pick(c.v, spots, free, no).node, no
}

// movable says why a guest can't be moved to a node; empty: it can.
func (p *planner) movable(c *change, n *model.Node, load *nodeLoad) string {
	if p.have.Nodes[n.Name] == nil {
		return "not in the cluster"
	}
	if !n.Online {
		return "offline"
	}
	if why := p.closed(c.v, n); why.no() {
		return why.reason
	}
	if text := p.apartByHA(c, n.Name); text != "" {
		return text
	}
	if free, need := load.free(n, c.v), c.g.Memory+c.v.Place.MinFree; c.running() && n.Memory > 0 && free < need {
		return fmt.Sprintf("%s of memory free, %s needed", model.Bytes(free), model.Bytes(need))
	}
	if most := c.v.Place.MaxPerNode; most > 0 && load.count[n.Name] >= most {
		return fmt.Sprintf("has %s already, which is the most it may have", plural(load.count[n.Name], "VM"))
	}
	if other := load.conflict(c.v, n.Name); other != "" {
		return "anti-affinity with " + other
	}
	if text := p.lacks(c.v, n.Name); text != "" {
		return text
	}
	if text := tooManyCPUs(allCPUs(c.have.Options), n); text != "" {
		return text
	}
	if text := cmp.Or(c.localDevice(), p.lacksDevice(c.have.Options, n.Name)); text != "" {
		return text
	}
	if c.running() {
		if why := p.devicesTaken(c.v, n.Name, effective(c.have), &c.o.Look); why.no() {
			return why.reason
		}
	}
	return p.carries(c, n.Name)
}

// carries says which of a guest's disks can't go to a node; empty: all can.
func (p *planner) carries(c *change, node string) string {
	if held := p.heldBySnapshots(c); held != "" {
		return fmt.Sprintf("%s, which snapshots may have in a drive, is on %s alone, and Proxmox moves no machine with such a drive: delete the snapshots first", held, c.g.Node)
	}
	need := map[string]int64{}
	for _, d := range slices.Concat(c.have.Disks, c.have.Unused, c.pluggedYet()) {
		s := p.have.Storages[d.Storage]
		if s == nil || d.Volume == "none" {
			continue
		}
		if _, there := s.OnNode[node]; !there {
			return fmt.Sprintf("has no storage %s, which %s is on", d.Storage, d.Slot)
		}
		switch {
		case s.Shared:
		case d.CDROM && !d.CloudInit:
			return fmt.Sprintf("%s, in drive %s, is on %s alone, and Proxmox moves no machine with such a drive", d.Volume, d.Slot, c.g.Node)
		case linkedClone(d.Volume):
			return fmt.Sprintf("%s is a linked clone on %s, which isn't shared, and Proxmox moves no machine with such a disk", d.Slot, d.Storage)
		case len(c.g.Snapshots) > 0 && !d.CloudInit && c.running():
			return fmt.Sprintf("%s is on %s, which isn't shared, and Proxmox moves no machine with snapshots of such a disk while it runs", d.Slot, d.Storage)
		case len(c.g.Snapshots) > 0 && !d.CloudInit && !takesSnapshotsAlong(s, d):
			return fmt.Sprintf("%s is on %s, from where Proxmox can't take its snapshots along", d.Slot, d.Storage)
		default:
			need[d.Storage] += d.Size
		}
	}
	for _, name := range model.NamesOf(need) {
		s := p.have.Storages[name]
		if free := p.spaceLeft(s, node); free < need[name] && !thin(s) {
			return fmt.Sprintf("storage %s has %s free, %s needed", name, model.Bytes(free), model.Bytes(need[name]))
		}
	}
	return ""
}

// heldBySnapshots returns a file with earlier first-boot data that only the node of the guest has, and that stays since snapshots may
// have it in a drive; empty: there is none.
func (p *planner) heldBySnapshots(c *change) string {
	if len(c.g.Snapshots) == 0 {
		return ""
	}
	for _, seed := range c.have.Marker.Old {
		if s := p.have.Storages[model.StorageOf(seed)]; s != nil && !s.Shared && !model.SeedSnippets(seed) {
			return seed
		}
	}
	return ""
}

// local reports whether a disk is on a storage that its node has alone.
func (p *planner) local(d model.Disk) bool {
	s := p.have.Storages[d.Storage]
	return s != nil && !s.Shared && !d.CDROM
}

// linkedClone reports whether a volume stands on that of a template, by its name: thin volumes
// of LVM don't say so, and can be moved.
func linkedClone(volume string) bool {
	_, name, _ := strings.Cut(volume, ":")
	return strings.Contains(path.Dir(name), "base-")
}

// takesSnapshotsAlong reports whether Proxmox copies a disk to another node with its snapshots.
func takesSnapshotsAlong(s *model.Storage, d model.Disk) bool {
	switch s.Type {
	case "zfspool":
		return true
	case "btrfs":
		return d.Format == "raw" || d.Format == "qcow2"
	}
	return d.Format == "qcow2"
}
