package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// A disk whose manifest names another storage than it is on is moved there: Proxmox copies
// it, while the guest runs, too, and removes the old volume when that is done.

// move is a disk that isn't where it should be.
type move struct {
	slot    string
	have    model.Disk
	storage string
	format  string // empty: any
}

// misplaced returns the disks that aren't on the storages, or in the formats, that are wanted.
// No manifest names a storage for firmware: that moves along with the root disk, and before
// it, so that the rest follows if the guest is looked at again in between.
func (c *change) misplaced() []move {
	var list, firm []move
	root := ""
	for _, d := range c.v.Disks {
		have, _ := c.have.DiskAt(c.slotOf(d))
		if d.Volume != "" || have.CDROM || have.Storage == "" || c.swapped(have) {
			continue
		}
		m := move{slot: have.Slot, have: have, storage: d.Storage}
		if firmware(d.Slot) {
			firm = append(firm, m)
			continue
		}
		m.format = c.otherFormat(d, have)
		if m.storage == "" {
			m.storage = have.Storage
		}
		if m.storage == have.Storage && m.format == "" {
			continue
		}
		list = append(list, m)
		if d.Root() && m.storage != have.Storage {
			root = m.storage
		}
	}
	for _, m := range slices.Backward(firm) {
		if m.storage = root; root != "" && root != m.have.Storage {
			list = slices.Insert(list, 0, m)
		}
	}
	return list
}

// otherFormat returns the format that a disk is to be in and isn't; empty: it is, or its storage
// has none.
func (c *change) otherFormat(want, have model.Disk) string {
	if want.Storage == "" {
		want.Storage = have.Storage
	}
	s := c.p.have.Storages[want.Storage]
	if s == nil || s.Blocks() || have.Format == want.Format {
		return ""
	}
	return want.Format
}

// move plans disks that are to be elsewhere, one after the other: each locks the guest.
func (c *change) move(after int) int {
	moves := c.misplaced()
	if len(moves) > 0 && c.g.Snapshots == nil {
		c.o.Look.Snapshots = append(c.o.Look.Snapshots, c.g.VMID)
		return after
	}
	for _, m := range moves {
		what := fmt.Sprintf("move %s to %s", m.slot, m.storage)
		why, diff := m.why()
		if no := c.immovable(m); no != "" {
			c.o.Refused = append(c.o.Refused, Refusal{What: what, Why: cmp.Or(why, "its format is "+m.have.Format) + "; " + no, Diff: diff, Effect: Live})
			continue
		}
		after = c.o.step(Step{
			Action: model.MoveDisk{Target: c.target(), Slot: m.slot, From: m.have.Volume, Storage: m.storage, Format: m.format},
			What:   what, Why: why, Diff: diff, Effect: Live,
		}, after)
	}
	return after
}

// why returns why a disk is moved, and what that changes.
func (m move) why() (string, []model.Difference) {
	if m.storage == m.have.Storage {
		return "", one(partOf(m.slot, "format", m.have.Format, m.format), Live)
	}
	return "it is on " + m.have.Storage, one(partOf(m.slot, "storage", m.have.Storage, m.storage), Live)
}

// immovable says why a disk can't be moved; empty: it can.
func (c *change) immovable(m move) string {
	s := c.p.have.Storages[m.storage]
	if s == nil {
		return fmt.Sprintf("there is no storage %s, or these credentials may not see it", m.storage)
	}
	room, there := s.OnNode[c.g.Node]
	switch {
	case !there:
		return fmt.Sprintf("%s has no storage %s", c.g.Node, m.storage)
	case !s.Content["images"]:
		return fmt.Sprintf("storage %s doesn't take disks", m.storage)
	case !thin(s) && room.Free() < m.have.Size:
		return fmt.Sprintf("storage %s has %s free, %s needed", m.storage, model.Bytes(room.Free()), model.Bytes(m.have.Size))
	case m.slot == "tpmstate0" && c.running():
		return "Proxmox can't do that while the machine runs"
	case len(c.g.Snapshots) > 0:
		return fmt.Sprintf("Proxmox moves no disks that snapshots have: delete %s first", c.snapshotNames())
	}
	return ""
}
