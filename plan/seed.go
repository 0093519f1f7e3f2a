package plan

import (
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// First-boot data that Proxmox' own options can't say are on a CD-ROM that we
// make. What they can say is on the drive that Proxmox makes.

// seed plans the upload of first-boot data. The marker names the file before
// it is made, so that it is never forgotten; its name has a digest of the
// content, so that a file that is there is the right one.
func (c *change) seed() int {
	if c.v.Seed == nil || !c.intended() {
		return 0
	}
	// A guest that runs has read it. One that is to start needs the file, which a
	// removal that was given up halfway may have taken away.
	// The hook of the node reads it at each start.
	if !c.v.Seed.Apart && c.attached() && (c.running() || c.v.Power != model.PowerOn) {
		return 0
	}
	if c.p.have.Files == nil {
		c.o.Look.Files = true
		return 0
	}
	if c.uploaded() || c.v.Seed.Lost {
		return 0
	}
	return c.o.step(seedStep(c.v, c.target()))
}

// intended tells whether the marker names the file already, and the drive is
// free for it.
func (c *change) intended() bool {
	return c.have.Marker != nil && c.have.Marker.Seed == seedVolume(c.v, c.g.VMID) && !c.occupied()
}

// seeded tells whether the guest has its first-boot data, or gets it by this plan.
func (c *change) seeded(uploading bool) bool {
	return c.v.Seed == nil || c.v.Seed.Lost || c.attached() || c.attachable(uploading)
}

// attachable tells whether the data can be put into the drive by this plan.
func (c *change) attachable(uploading bool) bool {
	return c.intended() && (uploading || c.uploaded())
}

// occupied tells whether the drive has to be emptied first: Proxmox forgets the
// volume of its own drive when another medium is put in while the guest runs.
func (c *change) occupied() bool {
	d, ok := c.have.DiskAt(c.seedSlot())
	return ok && d.CloudInit && c.running() && !c.v.Seed.Apart
}

func (c *change) uploaded() bool {
	return c.p.fileOn(seedVolume(c.v, c.g.VMID), c.g.Node)
}

// fileOn tells whether a node has a file, or shares the storage that has it.
func (p *planner) fileOn(volume, node string) bool { return p.fileIn(p.have.Files, volume, node) }

func (p *planner) fileIn(files map[string]model.File, volume, node string) bool {
	f, ok := files[volume]
	return ok && (p.sharedVolume(volume) || f.Node == node || slices.Contains(f.Also, node))
}

// fileNodes are the nodes that have a file, each its own; any one of them if the
// storage is shared.
func (p *planner) fileNodes(volume, any string) []string {
	f, ok := p.have.Files[volume]
	switch {
	case !ok:
		return nil
	case p.sharedVolume(volume):
		return []string{any}
	}
	return append([]string{f.Node}, f.Also...)
}

func (p *planner) sharedVolume(volume string) bool {
	s := p.have.Storages[model.StorageOf(volume)]
	return s == nil || s.Shared
}

// attached tells whether the drive holds what it should, or the hook is told to
// take it.
func (c *change) attached() bool {
	if c.v.Seed.Apart {
		return strings.Contains(c.have.Text, seedVolume(c.v, c.g.VMID))
	}
	d, ok := c.have.DiskAt(c.seedSlot())
	return ok && d.Volume == seedVolume(c.v, c.g.VMID)
}

// seedVolume is where a guest's first-boot data is kept.
func seedVolume(v model.VM, vmid int) string {
	return v.Seed.Volume(vmid)
}

// intendedSeed is the volume that a new guest's marker names.
func intendedSeed(v model.VM, vmid int) string {
	if v.Seed == nil {
		return ""
	}
	return seedVolume(v, vmid)
}

const seedPrefix = "seed:"

func seedMark(v model.VM) string { return seedPrefix + v.Seed.Digest }

// keepSeed leaves a guest that isn't made anew the data that it has read once.
func (c *change) keepSeed() {
	if c.v.Seed == nil || !c.v.Seed.Once {
		return
	}
	c.v.Seed = nil
	for _, mark := range c.have.Marker.Managed {
		if digest, ok := strings.CutPrefix(mark, seedPrefix); ok && c.have.Marker.Seed != "" {
			c.v.Seed = &model.Seed{Storage: model.StorageOf(c.have.Marker.Seed), Digest: digest, Once: true, Lost: true}
		}
	}
}

func seedStep(v model.VM, to model.Target) Step {
	return Step{
		Action: model.UploadSeed{Node: to.Node, Storage: v.Seed.Storage, File: v.Seed.File(to.VMID), Files: v.Seed.Files, Make: v.Seed.Make, For: to.VMID},
		What:   "upload its first-boot data", Why: "userData", Effect: New,
	}
}

// drives plans the CD-ROM drive that the guest reads at its first boot.
func (c *change) drives(act *model.Configure, uploading bool) {
	have, there := c.have.DiskAt(c.seedSlot())
	noDrive := c.v.Seed == nil || c.v.Seed.Apart
	switch {
	case noDrive && there && madeSeed(have.Volume):
		c.say("detach its first-boot data", Live)
		act.Delete = append(act.Delete, have.Slot)
	case noDrive && c.v.Seed != nil:
	case c.v.Seed != nil && c.occupied():
		c.say("empty the drive for its first-boot data", Live)
		act.Disks = append(act.Disks, model.NewDisk{Disk: model.Disk{Slot: c.seedSlot(), Volume: "none", CDROM: true}})
	case c.v.Seed != nil && !c.attached() && c.attachable(uploading):
		c.say("attach its first-boot data", Live)
		act.Disks = append(act.Disks, model.NewDisk{Disk: model.Disk{Slot: c.seedSlot(), Volume: seedVolume(c.v, c.g.VMID), CDROM: true}})
		c.dropCloudInitDrives(act)
	case c.v.Seed == nil && wantsCloudInit(c.v) && !hasCloudInit(c.have):
		c.say("add a cloud-init drive", Live)
		act.Disks = append(act.Disks, model.NewDisk{Disk: model.Disk{Slot: c.freeDrive(), CDROM: true, CloudInit: true, Storage: c.rootStorage()}})
	}
}

// ourSeed tells whether the marker names the volume.
func (c *change) ourSeed(volume string) bool {
	m := c.have.Marker
	return m != nil && volume != "" && (m.Seed == volume || slices.Contains(m.Old, volume))
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

// oldSeeds plans the end of files with earlier first-boot data. The marker
// names them until the list of files shows that they are gone.
func (c *change) oldSeeds() int {
	if c.have.Marker == nil || len(c.have.Marker.Old) == 0 {
		return 0
	}
	// What is attached is needed until something else is.
	detached := slices.DeleteFunc(slices.Clone(c.have.Marker.Old), func(volume string) bool {
		return slices.ContainsFunc(c.have.Disks, func(d model.Disk) bool { return d.Volume == volume })
	})
	return c.removeFiles(detached, "newer first-boot data has taken its place", 0)
}

// removeFiles plans the end of those files that are there.
func (c *change) removeFiles(volumes []string, why string, after int) int {
	if c.p.have.Files == nil {
		c.o.Look.Files = true
		return after
	}
	for _, volume := range volumes {
		for _, node := range c.p.fileNodes(volume, c.g.Node) {
			after = c.o.step(Step{Action: model.RemoveFile{Node: node, Volume: volume, For: c.g.VMID}, What: "remove " + volume, Why: why, Effect: Live}, after)
		}
	}
	return after
}

// leftSeeds are the files that will still have to go once the configuration is
// as wanted. One that the marker meant until now counts even if the list of files
// doesn't show it: its upload may be under way. Later lists tell.
func (c *change) leftSeeds(current string) []string {
	if c.have.Marker == nil {
		return nil
	}
	var old []string
	for _, volume := range append(slices.Clone(c.have.Marker.Old), c.have.Marker.Seed) {
		_, there := c.p.have.Files[volume]
		there = there || c.p.have.Files == nil || volume == c.have.Marker.Seed
		if volume != "" && volume != current && there && !slices.Contains(old, volume) {
			old = append(old, volume)
		}
	}
	return old
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

// rootStorage is the storage of the disk that a guest boots from.
func rootStorage(c *model.Config) string {
	d, ok := c.DiskAt(bootSlot(c))
	if !ok {
		return ""
	}
	storage, _, _ := strings.Cut(d.Volume, ":")
	return storage
}
