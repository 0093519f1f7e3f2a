package pvesim

import (
	"fmt"
	"strings"
)

// loadVM finds a VM on the node, or says what Proxmox says when it isn't
// there.
func (s *Sim) loadVM(node string, vmid int) (*VM, error) {
	vm := s.state.VMs[vmid]
	if vm == nil || vm.Node != node {
		return nil, noGuest(node, "qemu-server", vmid)
	}
	return vm, nil
}

// vm is the VM that the path names.
func (c *call) vm() (*VM, error) { return c.loadVM(c.node(), c.params.Int("vmid")) }

// checkLock refuses a VM that carries a lock (backup, clone, snapshot …).
func (v *VM) checkLock() error {
	if lock := v.Conf["lock"]; lock != "" {
		return die("VM is locked (%s)", lock)
	}
	return nil
}

// Template tells whether the VM is a template.
func (v *VM) Template() bool { return v.Conf["template"] == "1" }

// driveFamilies are the kinds of disk slots with the number of each.
var driveFamilies = []struct {
	name  string
	count int
}{{"ide", 4}, {"scsi", 31}, {"virtio", 16}, {"sata", 6}}

// driveKeys are all options that name a disk, in Proxmox' order.
var driveKeys = func() []string {
	var keys []string
	for _, f := range driveFamilies {
		for i := range f.count {
			keys = append(keys, fmt.Sprintf("%s%d", f.name, i))
		}
	}
	return append(keys, "efidisk0", "tpmstate0")
}()

var isDriveKey = func() map[string]bool {
	set := map[string]bool{}
	for _, k := range driveKeys {
		set[k] = true
	}
	return set
}()

// drive is the value of a disk option: the volume and what comes after it.
type drive struct {
	key    string
	volume string // "local:100/vm-100-disk-0.raw", "none", "cdrom", "/dev/sdb"
	opts   []string
}

// parseDrive splits a stored disk option.
func parseDrive(key, value string) drive {
	parts := strings.Split(value, ",")
	d := drive{key: key, volume: strings.TrimPrefix(strings.TrimPrefix(parts[0], "file="), "volume=")}
	d.opts = parts[1:]
	return d
}

func (d drive) opt(name string) string {
	for _, o := range d.opts {
		if v, ok := strings.CutPrefix(o, name+"="); ok {
			return v
		}
	}
	return ""
}

// set changes an option, keeping its place; an empty value removes it.
func (d *drive) set(name, value string) {
	var opts []string
	found := false
	for _, o := range d.opts {
		if !strings.HasPrefix(o, name+"=") {
			opts = append(opts, o)
			continue
		}
		if value != "" {
			opts = append(opts, name+"="+value)
		}
		found = true
	}
	if !found && value != "" {
		opts = append(opts, name+"="+value)
	}
	d.opts = opts
}

func (d drive) String() string { return strings.Join(append([]string{d.volume}, d.opts...), ",") }

// cdrom tells whether this is a CD-ROM drive, a cloud-init drive included.
func (d drive) cdrom() bool { return d.opt("media") == "cdrom" }

// cloudInit tells whether this is the cloud-init drive.
func (d drive) cloudInit() bool {
	return strings.Contains(d.volume, "cloudinit") && strings.Contains(d.volume, ":")
}

// onStorage tells whether the drive is a volume of a storage.
func (d drive) onStorage() bool {
	return d.volume != "none" && d.volume != "cdrom" && strings.Contains(d.volume, ":") && !strings.HasPrefix(d.volume, "/")
}

// drives returns the disks of a config in Proxmox' order.
func (c Conf) drives() []drive {
	var list []drive
	for _, k := range driveKeys {
		if v, ok := c[k]; ok {
			list = append(list, parseDrive(k, v))
		}
	}
	return list
}
