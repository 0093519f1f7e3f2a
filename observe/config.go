package observe

import (
	"cmp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pve/prop"
)

// reading is a config with what stands beside it.
type reading struct {
	config   *model.Config
	name     string
	lock     string
	template bool
}

// readingOf makes what Proxmox says of a config canonical.
func readingOf(settings []pve.PendingSetting) reading {
	c := &model.Config{Options: map[string]string{}}
	out, running := reading{config: c}, reading{config: &model.Config{Options: map[string]string{}}}
	for _, s := range settings {
		wanted := s.Value
		switch {
		case s.Delete:
			wanted = nil
		case s.Pending != nil:
			wanted = s.Pending
		}
		if differs(s, wanted) {
			if c.Pending == nil {
				c.Pending, c.Running = map[string]*string{}, running.config
			}
			c.Pending[s.Key] = wanted
			if s.Value != nil {
				running.take(s.Key, *s.Value)
			}
		}
		if wanted != nil {
			out.take(s.Key, *wanted)
		}
	}
	slices.SortFunc(c.Disks, func(a, b model.Disk) int { return model.CompareNames(a.Slot, b.Slot) })
	slices.SortFunc(c.Unused, func(a, b model.Disk) int { return model.CompareNames(a.Slot, b.Slot) })
	slices.SortFunc(c.NICs, func(a, b model.NIC) int { return model.CompareNames(a.Slot, b.Slot) })
	c.Half = c.Marker == nil && len(c.Disks) == 0 && (out.lock == "clone" || out.lock == "create" || out.lock == "destroyed")
	return out
}

// differs reports whether something really waits for the next start: Proxmox
// also lists changes of spelling.
func differs(s pve.PendingSetting, wanted *string) bool {
	switch {
	case !s.Delete && s.Pending == nil:
		return false
	case s.Value == nil || wanted == nil:
		return s.Value != wanted
	}
	return prop.Canonical(s.Key, *s.Value) != prop.Canonical(s.Key, *wanted)
}

// take sorts one setting to where it belongs.
func (r *reading) take(key, value string) {
	c := r.config
	switch model.SlotFamily(key) {
	case "scsi", "virtio", "sata", "ide", "efidisk", "tpmstate":
		c.Disks = append(c.Disks, diskOf(key, value))
		return
	case "unused":
		c.Unused = append(c.Unused, diskOf(key, value))
		return
	case "net":
		c.NICs = append(c.NICs, nicOf(key, value))
		return
	}
	switch key {
	case "digest":
		c.Digest = value
	case "description":
		text, marker, ok := model.ParseDescription(value)
		if c.Text = strings.TrimRight(text, "\n"); ok {
			c.Marker = &marker
		}
	case "tags":
		c.Tags = tagsOf(value)
	case "lock":
		r.lock = value
	case "template":
		r.template = prop.Canonical(key, value) != ""
	default:
		if key == "name" {
			r.name = value
		}
		if v := prop.Canonical(key, value); v != "" {
			c.Options[key] = v
		}
	}
}

// diskOf reads a drive. What isn't understood keeps its text as the volume, so
// that it is seen to be there.
func diskOf(slot, value string) model.Disk {
	p := prop.Properties(slot, value)
	if p == nil {
		return model.Disk{Slot: slot, Volume: value}
	}
	d := model.Disk{Slot: slot, Volume: p["file"], Format: p["format"], Options: map[string]string{}}
	if v, err := prop.ParseVolumeID(d.Volume); err == nil {
		d.Storage = v.Storage
		d.Format = cmp.Or(d.Format, v.Volume().Format)
	}
	if size, err := prop.ParseSize(p["size"]); err == nil {
		d.Size = int64(size)
	}
	if drive := (prop.Disk{File: d.Volume, Media: p["media"]}); slot != "efidisk0" && slot != "tpmstate0" {
		d.CDROM, d.CloudInit = drive.IsCDROM(), drive.IsCloudInit()
	}
	for k, v := range p {
		switch k {
		case "file", "size", "format", "media":
		default:
			d.Options[k] = v
		}
	}
	return d
}

func nicOf(slot, value string) model.NIC {
	p := prop.Properties(slot, value)
	n, err := prop.ParseNet(value)
	if err != nil {
		return model.NIC{Slot: slot, Options: map[string]string{"": value}}
	}
	nic := model.NIC{
		Slot: slot, Model: n.Model, MAC: strings.ToUpper(n.MAC), Bridge: n.Bridge, VLAN: n.Tag, MTU: n.MTU, Firewall: n.Firewall,
	}
	for k, v := range p {
		switch k {
		case "model", "macaddr", "bridge", "tag", "mtu", "firewall":
		default:
			if nic.Options == nil {
				nic.Options = map[string]string{}
			}
			nic.Options[k] = v
		}
	}
	return nic
}
