package plan

import (
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// First-boot data may hold what is worth stealing, such as the token that a machine joins a cluster
// with. Once the guest has done what they say, whoever put it there can have them dropped: the marker notes that, the
// drive is emptied, the file goes, and neither comes back, until the guest is made anew.

// DropSeed returns the change that removes the first-boot data from a guest for good; the next plan deletes the
// file. ok is false if there is nothing to drop: there are no data, they were dropped before, or they aren't on
// an ISO image in a drive (see [DropsSeed]).
func DropSeed(g *model.Guest) (model.Configure, bool) {
	was := g.Config.Marker
	if was == nil || was.Dropped || was.Seed == "" || !DropsSeed(g.Config) {
		return model.Configure{}, false
	}
	m := was.Bare()
	m.Dropped, m.Old, m.Seed = true, append(slices.Clone(m.Old), m.Seed), ""
	text, tags := model.Describe(g.Config.Text, m), slices.DeleteFunc(slices.Clone(g.Config.Tags), func(t string) bool {
		_, _, state := model.ParseStateTag([]string{t})
		return state
	})
	tags = append(tags, model.StateTag(m.Owner, unfinished)) // so that the list shows that there is more to do
	slices.Sort(tags)
	act := model.Configure{
		Target: model.Target{VMID: g.VMID, Node: g.Node}, Digest: g.Config.Digest, Set: map[string]string{}, Description: &text, Tags: &tags,
		Disks: emptied(g.Config, m.Seeds()),
	}
	act.Slow = len(act.Disks) > 0
	return act, true
}

// DropsSeed reports whether first-boot data can be dropped: snippets, and data for the node's hook, are read at
// each start.
func DropsSeed(c *model.Config) bool {
	seed := c.Marker.Seed
	return !model.SeedSnippets(seed) && (seed == "" || !strings.Contains(c.Text, seed))
}

// emptied returns the drives that hold one of some files, without a medium.
func emptied(c *model.Config, seeds []string) (drives []model.NewDisk) {
	for _, d := range c.Disks {
		if d.CDROM && d.Volume != "" && slices.Contains(seeds, d.Volume) {
			drives = append(drives, model.NewDisk{Disk: model.Disk{Slot: d.Slot, Volume: "none", CDROM: true}})
		}
	}
	return drives
}

// doneWith returns wanted first-boot data, marked as dropped if those of the guest were.
func doneWith(m *model.Marker, seed *model.Seed) *model.Seed {
	if !m.Dropped || seed == nil || seed.Apart || len(seed.Snippets) > 0 {
		return seed
	}
	done := *seed
	done.Dropped = true
	return &done
}

// done reports whether the guest's first-boot data were dropped.
func (c *change) done() bool { return c.v.Seed != nil && c.v.Seed.Dropped }

// eject empties the drive of a guest whose first-boot data were dropped: somebody may have inserted them again.
func (c *change) eject(act *model.Configure) {
	drives := emptied(c.have, c.have.Marker.Seeds())
	if len(drives) > 0 {
		c.say(Live, model.Difference{Verb: model.VerbEmpty, Field: model.FieldFirstBoot})
		act.Disks = append(act.Disks, drives...)
	}
}
