package prop

import (
	"slices"
	"strings"
)

// Hotplug says what can be changed while the VM runs: hotplug.
type Hotplug struct {
	Network   bool
	Disk      bool
	USB       bool
	CPU       bool
	Memory    bool // needs NUMA
	CloudInit bool
	Other     []string // of later versions of Proxmox

	text string // what was parsed
}

// DefaultHotplug is what holds when the VM's config has no hotplug.
var DefaultHotplug = Hotplug{Network: true, Disk: true, USB: true}

type feature struct {
	name string
	on   *bool
}

func (h *Hotplug) features() []feature {
	return []feature{
		{"network", &h.Network},
		{"disk", &h.Disk},
		{"usb", &h.USB},
		{"cpu", &h.CPU},
		{"memory", &h.Memory},
		{"cloudinit", &h.CloudInit},
	}
}

// ParseHotplug parses the value of hotplug: "network,disk,cpu", "0" for nothing,
// "1" for the default. Any text is a list of features.
func ParseHotplug(s string) Hotplug {
	var h Hotplug
	switch s {
	case "0":
	case "1":
		h = DefaultHotplug
	default:
		for _, w := range splitWords(s) {
			h.add(w)
		}
	}
	h.text = s
	return h
}

func (h *Hotplug) add(name string) {
	for _, f := range h.features() {
		if f.name == name {
			*f.on = true
			return
		}
	}
	if !slices.Contains(h.Other, name) {
		h.Other = append(h.Other, name)
	}
}

func (h Hotplug) String() string {
	if h.text != "" && ParseHotplug(h.text).Equal(h) {
		return h.text
	}
	var names []string
	for _, f := range h.features() {
		if *f.on {
			names = append(names, f.name)
		}
	}
	for _, name := range h.Other {
		if name = escape(name, ",; "); name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "0"
	}
	return strings.Join(names, ",")
}

// Equal reports whether both allow the same.
func (h Hotplug) Equal(o Hotplug) bool {
	a, b := h.features(), o.features()
	for i := range a {
		if *a[i].on != *b[i].on {
			return false
		}
	}
	return slices.Equal(slices.Sorted(slices.Values(h.Other)), slices.Sorted(slices.Values(o.Other)))
}
