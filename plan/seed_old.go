package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// oldSeeds plans the end of files with earlier first-boot data. The marker
// names them until the list of files shows that they are gone.
func (c *change) oldSeeds() int {
	if len(c.have.Marker.Old) == 0 {
		return 0
	}
	// What is attached is needed until something else is: also what a guest that runs has in a
	// drive until it restarts, since Proxmox migrates no guest without it. And earlier data may be wanted again.
	again := intendedSeed(c.v, c.g.VMID)
	detached := slices.DeleteFunc(slices.Clone(c.have.Marker.Old), func(volume string) bool {
		return volume == again || strings.Contains(c.have.Options[snippetsOption], volume) || slices.ContainsFunc(slices.Concat(c.have.Disks, c.pluggedYet()), func(d model.Disk) bool { return d.Volume == volume })
	})
	switch {
	case len(detached) == 0:
		return 0
	case c.g.Snapshots == nil:
		c.o.Look.Snapshots = append(c.o.Look.Snapshots, c.g.VMID)
		for _, seed := range detached {
			c.lookSeed(seed) // which is to be known, too
		}
		return 0
	}
	for _, seed := range detached {
		if wait := c.uploading(seed); wait != nil && c.o.Wait == nil {
			c.o.Wait = wait
		}
	}
	if len(c.g.Snapshots) > 0 {
		c.noteHeld(detached)
		return 0
	}
	why := "newer first-boot data has taken its place"
	if c.have.Marker.Dropped {
		why = "it has done with its first-boot data"
	}
	return c.removeFiles(detached, why, 0)
}

// noteHeld says which files stay since snapshots may have them in a drive.
func (c *change) noteHeld(seeds []string) {
	for _, seed := range seeds {
		if c.lookSeed(seed) {
			continue
		}
		for _, volume := range model.SeedVolumes(seed) {
			if len(c.p.fileNodes(volume, c.g.Node)) > 0 {
				c.o.note("%s, earlier first-boot data, stays while VM %d has snapshots: Proxmox needs it to go back to one that has it in a drive", volume, c.g.VMID)
			}
		}
	}
}

// removeFiles plans the end of first-boot data, as far as it is there.
func (c *change) removeFiles(seeds []string, why string, after int) int {
	for _, seed := range seeds {
		if seed == "" || c.lookSeed(seed) {
			continue
		}
		for _, volume := range model.SeedVolumes(seed) {
			for _, node := range c.p.fileNodes(volume, c.g.Node) {
				after = c.o.step(Step{Action: model.RemoveFile{Node: node, Volume: volume, For: c.g.VMID}, What: "remove " + volume, Why: why, Effect: Live}, after)
			}
		}
	}
	return after
}

// forget removes the files of a guest that is to be destroyed or released, while its marker still names
// them. ok is false while facts about them have to be read, or while an upload may be under way.
func (c *change) forget(seeds []string, why string, after int) (last int, ok bool) {
	last = c.removeFiles(seeds, why, after)
	if !c.o.Look.Empty() {
		return last, false
	}
	if wait := c.uploading(c.have.Marker.Seed); wait != nil {
		c.o.Steps, c.o.Wait = nil, wait
		return 0, false
	}
	return last, true
}

// uploading returns the wait for an upload that may be that of a file which isn't there;
// nil: there is none.
func (c *change) uploading(seed string) *Wait {
	if seed == "" || slices.ContainsFunc(model.SeedVolumes(seed), func(v string) bool { return len(c.p.fileNodes(v, c.g.Node)) > 0 }) {
		return nil
	}
	for _, t := range c.p.have.Tasks {
		if t.Type == "imgcopy" {
			return &Wait{Reason: model.WaitTask, Text: fmt.Sprintf("an upload is running, which may be that of %s", seed), Task: t.UPID}
		}
	}
	return nil
}

// pluggedYet returns the drives that a running guest has until it restarts: their removal, or what
// is to be in their slot, is pending.
func (c *change) pluggedYet() (list []model.Disk) {
	if c.have.Running == nil || !c.running() {
		return nil
	}
	for _, d := range c.have.Running.Disks {
		if now, there := c.have.DiskAt(d.Slot); !there || now.Volume != d.Volume {
			list = append(list, d)
		}
	}
	return list
}

// holds reports whether a drive of the guest holds a file.
func (c *change) holds(seed string) bool {
	return slices.ContainsFunc(c.have.Disks, func(d model.Disk) bool { return slices.Contains(model.SeedVolumes(seed), d.Volume) })
}

// leftSeeds returns the files that will still have to go once the configuration is
// up to date. One that the marker meant until now counts even if the list of files
// doesn't show it: its upload may be under way. Later lists show it.
func (c *change) leftSeeds(current string) []string {
	var old []string
	for _, seed := range c.have.Marker.Seeds() {
		files := c.p.have.FilesLike(seed)
		there := files == nil || seed == c.have.Marker.Seed || c.uploading(seed) != nil
		for _, volume := range model.SeedVolumes(seed) {
			_, listed := files[volume]
			there = there || listed
		}
		if seed != "" && seed != current && there && !slices.Contains(old, seed) {
			old = append(old, seed)
		}
	}
	return old
}
