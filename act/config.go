package act

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pve/prop"
)

func cloneOptions(c model.Clone) pve.CloneOptions {
	o := pve.CloneOptions{
		NewID: c.To.VMID, Name: c.Name, Description: c.Description, Pool: c.Pool, Snapshot: c.Snapshot, Full: new(c.Full),
	}
	if c.Full {
		o.Storage, o.Format = c.Storage, c.Format
	}
	if c.To.Node != c.From.Node {
		o.Target = c.To.Node
	}
	return o
}

func createOptions(c model.Create) pve.CreateOptions {
	s := settings(c.Options, c.Disks, c.NICs)
	set(s, "name", c.Name)
	set(s, "description", c.Description)
	set(s, "tags", strings.Join(c.Tags, ";"))
	return pve.CreateOptions{ID: c.VMID, Settings: s, Pool: c.Pool}
}

func resizeOptions(r model.Resize) pve.ResizeOptions {
	return pve.ResizeOptions{Disk: r.Slot, Size: prop.Size(r.Size).String()}
}

var diskSlot = regexp.MustCompile(`^(?:scsi|virtio|sata|ide|efidisk|tpmstate|unused)\d+$`)

// configure changes a config in one call, if it is unchanged since it was read.
func configure(ctx context.Context, vm pve.VM, c model.Configure) (pve.UPID, error) {
	change := pve.ConfigChange{Set: settings(c.Set, c.Disks, c.NICs), Delete: slices.Clone(c.Delete), Digest: c.Digest}
	for k, v := range c.Set {
		if v == "" {
			change.Delete = append(change.Delete, k)
		}
	}
	if c.Tags != nil {
		setOrDelete(&change, "tags", strings.Join(*c.Tags, ";"))
	}
	if c.Description != nil {
		setOrDelete(&change, "description", *c.Description)
	}
	slices.Sort(change.Delete)
	change.Delete = slices.Compact(change.Delete)
	// A disk that is taken away is to go, not to stay as an unused one.
	change.Force = slices.ContainsFunc(change.Delete, diskSlot.MatchString)
	if c.Slow && newStorage(c.Disks) != "" {
		return vm.StartConfig(ctx, pve.SlowConfigChange{ConfigChange: change})
	}
	return pve.UPID{}, vm.SetConfig(ctx, change)
}

// release removes our marks from a guest, if its config is unchanged since it was read.
func release(ctx context.Context, vm pve.VM, r model.Release) error {
	change := pve.ConfigChange{Set: pve.Settings{}, Digest: r.Digest}
	setOrDelete(&change, "tags", strings.Join(r.Tags, ";"))
	setOrDelete(&change, "description", r.Description)
	return vm.SetConfig(ctx, change)
}

func setOrDelete(c *pve.ConfigChange, key, value string) {
	if value == "" {
		c.Delete = append(c.Delete, key)
		return
	}
	c.Set[key] = value
}

func set(s pve.Settings, key, value string) {
	if value != "" {
		s[key] = value
	}
}

// settings returns options, disks and NICs as parameters of a call.
func settings(options map[string]string, disks []model.NewDisk, nics []model.NIC) pve.Settings {
	s := pve.Settings{}
	for k, v := range options {
		switch first, _, _ := strings.Cut(v, ","); {
		case k == "sshkeys":
			v = prop.NewSSHKeys(strings.Split(v, "\n")...).String()
		case k == "cpu" && strings.Contains(first, "=") && !strings.HasPrefix(first, "cputype="):
			v = "kvm64," + v // Proxmox wants the type, though it is the default
		}
		set(s, k, v)
	}
	for _, d := range disks {
		s[d.Slot] = diskText(d)
	}
	for _, n := range nics {
		s[n.Slot] = nicText(n)
	}
	return s
}

// diskText returns the property string of a drive. One without a volume is made:
// empty and of its size, or from an image, whose size it has then.
func diskText(d model.NewDisk) string {
	file := d.Volume
	switch {
	case file != "":
	case d.CloudInit:
		file = prop.CloudInitVolume(d.Storage)
	case d.Import != "":
		file = prop.NewVolume(d.Storage, 0)
	default:
		file = prop.NewVolume(d.Storage, prop.Size(d.Size))
	}
	l := prop.List{{Value: file}}
	l.Set("import-from", d.Import)
	if d.CDROM {
		l.Set("media", "cdrom")
	}
	if d.Volume == "" {
		l.Set("format", d.Format)
	}
	for _, k := range slices.Sorted(maps.Keys(d.Options)) {
		l.Set(k, d.Options[k])
	}
	return l.String()
}

// nicText returns the property string of a network card.
func nicText(n model.NIC) string {
	l := prop.List{{Value: n.Model}}
	if n.MAC != "" {
		l = prop.List{{Key: n.Model, Value: n.MAC}}
	}
	l.Set("bridge", n.Bridge)
	if n.VLAN != 0 {
		l.Set("tag", strconv.Itoa(n.VLAN))
	}
	if n.MTU != 0 {
		l.Set("mtu", strconv.Itoa(n.MTU))
	}
	if n.Firewall {
		l.Set("firewall", "1")
	}
	for _, k := range slices.Sorted(maps.Keys(n.Options)) {
		l.Set(k, n.Options[k])
	}
	return prop.Canonical(n.Slot, l.String())
}
