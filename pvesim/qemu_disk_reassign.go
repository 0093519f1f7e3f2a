package pvesim

import (
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// reassignDisk gives a disk to another VM.
func (c *call) reassignDisk(job *moveJob) (any, error) {
	if !c.who.Root() {
		if err := c.needVM(c.who, job.target, "", "VM.Config.Disk"); err != nil {
			return nil, err
		}
	}
	if job.target == job.vmid {
		return nil, badParam("target-vmid", "must be different than source VMID to reassign disk")
	}
	_, _, d, err := job.checkReassign(c.Sim)
	if err != nil {
		return nil, err
	}
	if err := c.need(c.who, "/storage/"+storageOf(d.volume), "Datastore.AllocateSpace"); err != nil {
		return nil, err
	}
	id := strconv.Itoa(job.vmid) + "-" + job.disk + ">" + strconv.Itoa(job.target) + "-" + job.targetDisk
	return c.fork(job.node, "qmmove", id, c.who, func(t *task) error {
		unlock, err := t.lockConfig(job.vmid)
		if err != nil {
			return err
		}
		defer unlock()
		unlockTarget, err := t.lockConfig(job.target)
		if err != nil {
			return err
		}
		defer unlockTarget()
		return job.reassign(t)
	}), nil
}

func (job *moveJob) checkReassign(s *Sim) (src, dst *VM, d drive, err error) {
	src, dst = s.state.VMs[job.vmid], s.state.VMs[job.target]
	switch {
	case src == nil:
		err = die("could not find VM %d", job.vmid)
	case dst == nil:
		err = die("could not find target VM %d", job.target)
	case src.Node != dst.Node:
		err = die("Both VMs need to be on the same node (%s != %s)", src.Node, dst.Node)
	case src.Node != job.node:
		err = noGuest(job.node, "qemu-server", job.vmid)
	case src.checkLock() != nil:
		err = src.checkLock()
	case dst.checkLock() != nil:
		err = dst.checkLock()
	case src.Template() || dst.Template():
		err = die("Can't move disks from or to template VMs")
	case job.digest != "" && job.digest != src.Digest():
		err = die("VM %d: detected modified configuration - file changed by other user? Try again.", job.vmid)
	case job.targetDigest != "" && job.targetDigest != dst.Digest():
		err = die("VM %d: detected modified configuration - file changed by other user? Try again.", job.target)
	case src.Conf[job.disk] == "":
		err = die("Disk '%s' for VM '%d' does not exist", job.disk, job.vmid)
	case dst.Conf[job.targetDisk] != "":
		err = die("Target disk key '%s' is already in use for VM '%d'", job.targetDisk, job.target)
	}
	if err != nil {
		return nil, nil, d, err
	}
	d = parseDrive(job.disk, src.Conf[job.disk])
	switch {
	case d.disc():
		err = die("CD drive contents can't be moved to another VM")
	case !d.onStorage():
		err = die("Volume '%s' not managed by PVE", d.volume)
	case s.usedBesides(src, d.volume, job.disk):
		err = die("Can't move disk used by a snapshot to another VM")
	case !s.volumeFeature(d.volume, "rename", ""):
		err = die("Storage does not support moving of this disk to another VM")
	case src.Run != nil && !strings.HasPrefix(job.disk, "unused"):
		err = die("Cannot move disk to another VM while the source VM is running - detach first")
	}
	if err != nil || strings.HasPrefix(job.targetDisk, "unused") {
		return src, dst, d, err
	}
	if _, bad := s.option(job.targetDisk).ParseProps(job.targetDisk, src.Conf[job.disk]); bad != nil {
		err = die("failed to parse source disk for target disk format - %v\n", bad)
	}
	return src, dst, d, err
}

func (job *moveJob) reassign(t *task) error {
	src, dst, d, err := job.checkReassign(t.Sim)
	if err != nil {
		return err
	}
	t.logf("reassign disk '%s' from VM '%d' as '%s' to VM '%d'", job.disk, job.vmid, job.targetDisk, job.target)
	if d.volume, err = t.renameVolume(job.node, d.volume, job.target); err != nil {
		return err
	}
	draft := src.draft()
	if order, had := bootWithout(draft.conf, job.disk); had {
		t.logf("removing disk '%s' from boot order config", job.disk)
		draft.conf["boot"] = printBoot(order)
	}
	delete(draft.conf, job.disk)
	t.logf("removing disk '%s' from VM '%d' config", job.disk, job.vmid)
	if err := t.store(src, draft); err != nil {
		return err
	}
	if strings.HasPrefix(job.targetDisk, "unused") {
		draft := dst.draft()
		draft.conf[job.targetDisk] = d.volume
		return t.store(dst, draft)
	}
	// The rest is an ordinary change of the target's config.
	ch, err := readChange(&call{actor: t.actor, who: t.who, entry: job.node, params: schema.Params{
		"node": job.node, "vmid": strconv.Itoa(job.target), job.targetDisk: d.String(),
	}})
	if err != nil {
		return err
	}
	return ch.apply(&t.actor, t.logf)
}

// bootWithout is the boot order without a disk; had reports whether the disk
// was in it.
func bootWithout(c Conf, disk string) (order []string, had bool) {
	from := orderOf(c["boot"])
	if _, ok := property(c["boot"], "order", ""); !ok && strings.TrimSpace(c["boot"]) != "" || c["boot"] == "" {
		from = legacyOrder(c)
	}
	for _, dev := range from {
		if dev == disk {
			had = true
		} else {
			order = append(order, dev)
		}
	}
	return order, had
}

// legacyOrder is the boot order of configs that don't list devices: letters
// for disk, CD-ROM and network, and the option bootdisk.
func legacyOrder(c Conf) (order []string) {
	letters, ok := property(c["boot"], "legacy", "legacy")
	if !ok {
		letters = "cdn"
	}
	for _, letter := range letters {
		switch letter {
		case 'c':
			if c["bootdisk"] != "" && c[c["bootdisk"]] != "" {
				order = append(order, c["bootdisk"])
			}
		case 'd':
			for _, d := range c.drives() {
				if d.disc() {
					order = append(order, d.key)
				}
			}
		case 'n':
			for i := range 32 {
				if key := "net" + strconv.Itoa(i); c[key] != "" {
					order = append(order, key)
				}
			}
		}
	}
	return order
}
