package pvesim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// loadVM finds a VM on the node, or says what Proxmox says when it isn't
// there.
func (s *Sim) loadVM(node string, vmid int) (*VM, error) {
	s.guests() // guests that were changed from outside are counted anew
	vm := s.state.VMs[vmid]
	if vm == nil || vm.Node != node {
		return nil, noGuest(node, "qemu-server", vmid)
	}
	return vm, nil
}

// vm is the VM that the path names.
func (c *call) vm() (*VM, error) { return c.loadVM(c.node(), c.params.Int("vmid")) }

// withVM runs fn on the VM of the request, with its lock file held.
func (c *call) withVM(fn func(vm *VM) error) error {
	return c.lockedVM(c.node(), c.params.Int("vmid"), fn)
}

// checkLock refuses a VM that carries a lock (backup, clone, snapshot …).
func (v *VM) checkLock() error {
	if lock := v.Conf["lock"]; truthy(lock) {
		return die("VM is locked (%s)", lock)
	}
	return nil
}

// checkProtection refuses to remove something from a protected VM.
func (c Conf) checkProtection(what string) error {
	if truthy(c["protection"]) {
		return die("%s - protection mode enabled", what)
	}
	return nil
}

// Template reports whether the VM is a template.
func (v *VM) Template() bool { return v.Conf["template"] == "1" }

// truthy is what Perl takes for true.
func truthy(text string) bool { return text != "" && text != "0" }

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

// family matches options that come in rows: net0, net1, …
func family(key, name string) bool {
	digits, ok := strings.CutPrefix(key, name)
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// drive is the value of a disk option: the volume and what comes after it.
type drive struct {
	key    string
	volume string // "local:100/vm-100-disk-0.raw", "none", "cdrom", "/dev/sdb"
	opts   []string
}

// parseDrive splits a stored disk option.
func parseDrive(key, value string) drive {
	d := drive{key: key}
	for _, part := range strings.Split(value, ",") {
		name, v, named := strings.Cut(part, "=")
		switch {
		case !named && d.volume == "":
			d.volume = part
		case name == "file" || name == "volume":
			d.volume = v
		case part != "":
			d.opts = append(d.opts, part)
		}
	}
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

// has reports whether an option is there, be it empty.
func (d drive) has(name string) bool {
	return slices.ContainsFunc(d.opts, func(o string) bool { return strings.HasPrefix(o, name+"=") })
}

// set changes an option; an empty value removes it.
func (d *drive) set(name, value string) {
	opts := slices.DeleteFunc(slices.Clone(d.opts), func(o string) bool { return strings.HasPrefix(o, name+"=") })
	if value != "" {
		opts = append(opts, name+"="+value)
	}
	d.opts = opts
}

// String returns the drive as Proxmox stores it: the volume, then the rest by name.
func (d drive) String() string {
	opts := slices.Clone(d.opts)
	slices.SortFunc(opts, func(a, b string) int {
		a, _, _ = strings.Cut(a, "=")
		b, _, _ = strings.Cut(b, "=")
		return strings.Compare(a, b)
	})
	return strings.Join(append([]string{d.volume}, opts...), ",")
}

// cdrom reports whether this is a CD-ROM drive, a cloud-init drive included.
func (d drive) cdrom() bool { return d.opt("media") == "cdrom" }

// disc reports whether this is a CD-ROM drive that isn't for cloud-init.
func (d drive) disc() bool { return d.cdrom() && !d.cloudInit() }

var cloudInitVolume = regexp.MustCompile(`[:/](?:vm-\d+-)?cloudinit(?:\.(?:raw|qcow|qcow2|qed|vmdk|cloop))?$`)

// cloudInit reports whether this is the cloud-init drive.
func (d drive) cloudInit() bool { return cloudInitVolume.MatchString(d.volume) }

// onStorage reports whether the drive is a volume of a storage.
func (d drive) onStorage() bool {
	_, _, ok := splitVolID(d.volume)
	return ok
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

// cloudInitKey names the option that holds the cloud-init drive, other than
// the one to skip; "" when there is none.
func (c Conf) cloudInitKey(skip string) string {
	for _, d := range c.drives() {
		if d.key != skip && d.cloudInit() {
			return d.key
		}
	}
	return ""
}
