package schema

import (
	_ "embed" // the time zones
	"slices"
	"strings"
	"sync"
)

var _ = register(map[string]checker{
	"pve-hotplug-features": hotplug,
	"pve-cpuset":           cpuSet,
	"pve-phys-bits":        physBits,
	"pve-qm-bootdisk": func(_ *Schema, dev string) error {
		if !isDevice(dev, drives) && dev != "efidisk0" && dev != "tpmstate0" {
			return fail("invalid boot disk '%s'", dev)
		}
		return nil
	},
	"pve-qm-bootdev": func(_ *Schema, dev string) error {
		if !isDevice(dev, drives) && !isDevice(dev, bootable) {
			return fail("invalid boot device '%s'", dev)
		}
		return nil
	},
	"pve-lxc-mp-string": func(_ *Schema, path string) error {
		if lxcDots.match(path) || strings.HasPrefix(path, "../") {
			return fail("%s contains illegal character sequences", path)
		}
		return nil
	},
	"pve-lxc-dev-string": func(_ *Schema, path string) error {
		if lxcDots.match(path) || !strings.HasPrefix(path, "/dev/") {
			return fail("%s is not a valid device path", path)
		}
		return nil
	},
	"pve-ct-timezone": func(_ *Schema, zone string) error {
		if zone == "host" || zone == "UTC" || slices.Contains(zones(), zone) {
			return nil
		}
		return fail("invalid time zone '%s'", zone)
	},
})

// families of devices, with their last index
var (
	drives   = map[string]int{"ide": 3, "scsi": 30, "virtio": 15, "sata": 5}
	bootable = map[string]int{"net": 31, "usb": 13, "hostpci": 15}
)

func isDevice(name string, families map[string]int) bool {
	base := strings.TrimRight(name, "0123456789")
	last, ok := families[base]
	return ok && indexIn(name[len(base):], 0, last)
}

var lxcDots = perlPattern(`/\.\.?(?:/|$)`)

// zones are the names in Debian's zone.tab, which is what Proxmox reads.
//
//go:embed data/zones.txt
var zonesText string

var zones = sync.OnceValue(func() []string { return strings.Fields(zonesText) })

func hotplug(_ *Schema, value string) error {
	if value == "0" || value == "1" {
		return nil
	}
	for _, feature := range SplitList(value) {
		switch feature {
		case "network", "disk", "cpu", "memory", "usb", "cloudinit":
		default:
			return fail("invalid hotplug feature '%s'", feature)
		}
	}
	return nil
}

var cpuRangeRE = perlPattern(`^\s*(\d+)(?:-(\d+))?\s*$`)

func cpuSet(_ *Schema, value string) error {
	bad := fail("unable to parse cpuset option")
	value = strings.TrimRight(value, ",")
	if value == "" {
		return nil
	}
	for part := range strings.SplitSeq(value, ",") {
		if !cpuRangeRE.match(part) {
			return bad
		}
		from, to, isRange := strings.Cut(strings.TrimFunc(part, isSpace), "-")
		if isRange && numeric(to) < numeric(from) {
			return bad
		}
	}
	return nil
}

var physBitsRE = perlPattern(`^(host|\d{1,2})$`)

func physBits(_ *Schema, value string) error {
	if n := numeric(value); !physBitsRE.match(value) || !strings.HasPrefix(value, "host") && (n < 8 || n > 64) {
		return fail("value must be an integer between 8 and 64 or 'host'")
	}
	return nil
}

// cpuConf checks the cpu option of a VM.
func cpuConf(s *Schema, props *Props) error {
	model := props.Get("cputype")
	if !perlTrue(model) {
		return fail("CPU is missing cputype")
	}
	if name, custom := strings.CutPrefix(model, "custom-"); custom {
		if s.hasCPUModel != nil && !s.hasCPUModel(name) {
			return fail("Custom cputype '%s' not found", name)
		}
	} else if !slices.Contains(s.facts.cpuModels, model) {
		return fail("Built-in cputype '%s' is not defined (missing 'custom-' prefix?)", model)
	}
	if flags := props.Get("flags"); perlTrue(flags) && !s.facts.cpuFlagsRE.match(flags) {
		return fail("VM-specific CPU flags must be a subset of: %s", strings.Join(s.facts.cpuFlags, ", "))
	}
	if props.Has("reported-model") {
		return fail("Property 'reported-model' not allowed in VM-specific CPU config.")
	}
	return nil
}
