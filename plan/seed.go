package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// First-boot data that Proxmox' own options can't say are on a CD-ROM that we
// make. What they can say is on the drive that Proxmox makes.

// seed plans the upload of first-boot data. The marker names the file before
// it is made, so that it is never forgotten; its name has a digest of the
// content, so that a file that is there is the right one.
func (c *change) seed() []int {
	if c.v.Seed == nil || c.done() || !c.intended() {
		return nil
	}
	// A guest that runs has read its drive. One that is to start needs the file,
	// which a removal that was given up halfway may have taken away. The hook of the
	// node, and Proxmox itself, read theirs at each start.
	lacks := !c.v.Seed.Apart && !c.snippets() && c.attached() && slices.Contains(c.g.Missing, c.seedSlot())
	if !c.v.Seed.Apart && !c.snippets() && c.attached() && (c.running() || c.v.Power != model.PowerOn) && !lacks {
		return nil
	}
	if c.lookSeed(seedVolume(c.v, c.g.VMID)) || c.v.Seed.Lost {
		return nil
	}
	elsewhere := c.strayCopies()
	var steps []int
	for _, s := range c.p.seedSteps(c.v, c.target()) {
		if lacks {
			s.Effect, s.Why = Live, fmt.Sprintf("%s holds it, and storage %s doesn't have it any more", c.seedSlot(), c.v.Seed.Storage)
		}
		steps = append(steps, c.o.step(s, elsewhere))
	}
	return steps
}

// strayCopies plans the removal of the file from nodes that the guest has left since the
// upload. The removal precedes the next upload, so that the file is recorded at all times.
// What is read at each start stays, since HA may take the guest back there.
func (c *change) strayCopies() (last int) {
	volume := seedVolume(c.v, c.g.VMID)
	if c.v.Seed.Apart {
		return 0
	}
	for _, node := range c.p.fileNodes(volume, c.g.Node) {
		if node != c.g.Node {
			last = c.o.step(Step{
				Action: model.RemoveFile{Node: node, Volume: volume, For: c.g.VMID},
				What:   fmt.Sprintf("remove %s from %s", volume, node), Why: fmt.Sprintf("VM %d is on %s now", c.g.VMID, c.g.Node), Effect: Live,
			}, last)
		}
	}
	return last
}

// lookSeed asks for the list that shows where first-boot data are; it reports
// whether that has to be read.
func (c *change) lookSeed(volume string) bool {
	switch snippets := model.SeedSnippets(volume); {
	case snippets && c.p.have.Snippets == nil:
		c.o.Look.Snippets = true
	case !snippets && c.p.have.Files == nil:
		c.o.Look.Files = true
	default:
		return false
	}
	return true
}

// intended reports whether the marker names the file already, and the drive is
// free for it.
func (c *change) intended() bool {
	return c.have.Marker.Seed == seedVolume(c.v, c.g.VMID) && !c.occupied()
}

// seeded reports whether the guest has its first-boot data, or gets it by this plan.
func (c *change) seeded(uploading bool) bool {
	return c.v.Seed == nil || c.v.Seed.Lost || c.done() || c.attached() || c.attachable(uploading)
}

// attachable reports whether the data can be put into the drive by this plan.
func (c *change) attachable(uploading bool) bool {
	return c.intended() && (uploading || c.uploaded())
}

// occupied reports whether the drive has to be emptied first: Proxmox forgets the
// volume of its own drive when another medium is put in while the guest runs. That
// is never certain: somebody, or a restart that is thought to have failed, may start it just
// then. A guest that was just made has its data beside that drive, if there is room. An earlier
// change that failed halfway may have been to empty it: then the guest still has it.
func (c *change) occupied() bool {
	if c.v.Seed.Apart || c.snippets() || !c.running() && fresh(c.have) {
		return false
	}
	if d, ok := c.have.DiskAt(c.seedSlot()); ok && d.CloudInit {
		return true
	}
	return c.driveLeaves() == c.seedSlot()
}

func (c *change) uploaded() bool { return len(c.p.seedSteps(c.v, c.target())) == 0 }

// attached reports whether the drive holds what it should, or the hook has instructions to
// take it.
func (c *change) attached() bool {
	switch {
	case c.v.Seed.Apart:
		return strings.Contains(c.have.Text, seedVolume(c.v, c.g.VMID))
	case c.snippets():
		return c.have.Options[snippetsOption] == c.v.Options[snippetsOption]
	}
	d, ok := c.have.DiskAt(c.seedSlot())
	return ok && d.Volume == seedVolume(c.v, c.g.VMID)
}

// seedVolume returns where a guest's first-boot data is kept.
func seedVolume(v model.VM, vmid int) string {
	return v.Seed.Volume(vmid)
}

// intendedSeed returns the volume that a new guest's marker names.
func intendedSeed(v model.VM, vmid int) string {
	if v.Seed == nil || v.Seed.Dropped {
		return ""
	}
	return seedVolume(v, vmid)
}

// seedKnown reports whether the marker says that the guest got these data.
func (c *change) seedKnown() bool {
	mark := markOf(c.have.Marker, seedPrefix)
	return mark != "" && c.v.Seed.Seal().Match(mark) == model.SameSecret
}

// keepSeed leaves a guest that isn't made anew the data that it has read once.
func (c *change) keepSeed() {
	wanted := c.v.Seed
	if wanted == nil || !wanted.Once || wanted.Dropped {
		return
	}
	c.v.Seed = nil
	old := c.have.Marker.Seed
	if mark := markOf(c.have.Marker, seedPrefix); mark != "" && old != "" {
		has := model.Seed{Storage: model.StorageOf(old), Digest: mark, Once: true, Apart: wanted.Apart, Snippets: wanted.Snippets, Lost: true}
		has, _ = has.At(old)
		c.v.Seed = &has
	}
	c.v.Description = strings.ReplaceAll(c.v.Description, wanted.Volume(c.g.VMID), old)
	if _, said := c.v.Options[snippetsOption]; said && len(wanted.Snippets) > 0 {
		c.v.Options = withOption(c.v.Options, snippetsOption, c.have.Options[snippetsOption])
	}
}

// seedSteps returns the uploads that first-boot data still need.
func (p *planner) seedSteps(v model.VM, to model.Target) []Step {
	const what, why = "upload its first-boot data", model.WhyData
	seed := v.Seed
	if len(seed.Snippets) > 0 {
		return p.snippetSteps(v, to, what, why)
	}
	if p.fileOn(seed.Volume(to.VMID), to.Node) {
		return nil
	}
	return []Step{{
		Action: model.UploadSeed{Node: to.Node, Storage: seed.Storage, File: seed.File(to.VMID), Files: seed.Files, Recipe: seed.Recipe, For: to.VMID},
		What:   what, Why: why, Effect: New,
	}}
}

// drives plans the CD-ROM drive that the guest reads at its first boot.
func (c *change) drives(act *model.Configure, uploading bool) {
	if c.done() {
		c.eject(act)
		return
	}
	have, there := c.have.DiskAt(c.seedSlot())
	noDrive := c.v.Seed == nil || c.v.Seed.Apart || c.snippets()
	switch {
	case noDrive && there && madeSeed(have.Volume) && (!c.have.Marker.Adopted || c.ourSeed(have.Volume)): // one that was adopted keeps what it came with
		c.sayDrive(have.Slot, model.Difference{Verb: model.VerbRemove, Field: model.FieldFirstBoot})
		act.Delete = append(act.Delete, have.Slot)
	case noDrive && wantsCloudInit(c.v) && !hasCloudInit(c.have) && c.driveLeaves() != "":
		c.later = append(c.later, c.driveLeaves())
	case noDrive && wantsCloudInit(c.v) && !hasCloudInit(c.have):
		c.sayDrive(c.freeDrive(), model.Difference{Verb: model.VerbAdd, Field: model.FieldCloudInit})
		d := model.Disk{Slot: c.freeDrive(), CDROM: true, CloudInit: true, Storage: cmp.Or(c.rootStorage(), c.p.diskStorage(c.g.Node))}
		if i := slices.IndexFunc(c.have.Unused, func(d model.Disk) bool { return d.CloudInit }); i >= 0 {
			d.Volume = c.have.Unused[i].Volume // a restored backup had none; its name is taken
		} else {
			d.Volume = c.strandedDrive(d.Storage)
		}
		act.Disks = append(act.Disks, model.NewDisk{Disk: d})
	case noDrive:
	case c.v.Seed != nil && c.occupied():
		c.say(Live, model.Difference{Verb: model.VerbEmpty, Field: model.FieldFirstBoot})
		c.supersede(c.seedSlot())
		act.Disks = append(act.Disks, model.NewDisk{Disk: model.Disk{Slot: c.seedSlot(), Volume: "none", CDROM: true}})
	case c.v.Seed != nil && !c.attached() && c.attachable(uploading):
		if there {
			c.say(Live, model.Difference{Verb: model.VerbAttach, Field: model.FieldFirstBoot})
		} else {
			c.sayDrive(c.seedSlot(), model.Difference{Verb: model.VerbAttach, Field: model.FieldFirstBoot})
		}
		act.Disks = append(act.Disks, model.NewDisk{Disk: model.Disk{Slot: c.seedSlot(), Volume: seedVolume(c.v, c.g.VMID), CDROM: true}})
		c.dropCloudInitDrives(act)
	}
}

// ourSeed reports whether the marker names the volume.
func (c *change) ourSeed(volume string) bool {
	m := c.have.Marker
	return volume != "" && (m.Seed == volume || slices.Contains(m.Old, volume))
}

// dropCloudInitDrives removes Proxmox' own drives: two with the same label
// would leave it to chance which one is read.
func (c *change) dropCloudInitDrives(act *model.Configure) {
	for _, d := range c.have.Disks {
		if d.CloudInit && d.Slot != c.seedSlot() {
			act.Delete = append(act.Delete, d.Slot)
		}
	}
}

func wantsCloudInit(v model.VM) bool {
	for k, value := range v.Options {
		if value != "" && cloudInitOption(k) {
			return true
		}
	}
	return false
}

func hasCloudInit(c *model.Config) bool {
	return slices.ContainsFunc(c.Disks, func(d model.Disk) bool { return d.CloudInit })
}

func (c *change) rootStorage() string { return rootStorage(c.have) }

// rootStorage returns the storage of the disk that a guest boots from.
func rootStorage(c *model.Config) string {
	d, ok := c.DiskAt(bootSlot(c))
	if !ok {
		return ""
	}
	storage, _, _ := strings.Cut(d.Volume, ":")
	return storage
}
