package prop

import (
	"slices"
	"strings"
)

// CPU is the kind of processor: cpu.
type CPU struct {
	Type          string   // "host", "x86-64-v2-AES", "custom-…"; absent: "kvm64"
	Flags         []string // "+aes", "-pcid"
	Hidden        bool     // don't tell that it is KVM
	HVVendorID    string
	ReportedModel string // absent: "kvm64"
	PhysBits      string // a number, or "host"
	GuestPhysBits int
	Rest
}

var cpuForm = form{name: "CPU", key: "cputype"}

func (c *CPU) fields() []field {
	return []field{
		bind("cputype", &c.Type, text).or("kvm64"),
		words("flags", &c.Flags).comparedBy(inAnyOrder),
		bind("guest-phys-bits", &c.GuestPhysBits, natural),
		flag("hidden", &c.Hidden),
		bind("hv-vendor-id", &c.HVVendorID, text),
		bind("phys-bits", &c.PhysBits, text),
		bind("reported-model", &c.ReportedModel, text).or("kvm64"),
	}
}

func inAnyOrder(s string) string {
	ws := splitWords(s)
	slices.Sort(ws)
	return strings.Join(ws, ";")
}

// ParseCPU parses the value of cpu.
func ParseCPU(s string) (CPU, error) {
	var c CPU
	if err := cpuForm.read(s, c.fields(), &c.Rest); err != nil {
		return CPU{}, err
	}
	return c, nil
}

func (c CPU) String() string { return cpuForm.write(c.fields(), c.Rest) }

// Equal reports whether both are the same kind of processor.
func (c CPU) Equal(o CPU) bool { return equal(c.fields(), o.fields(), c.Rest, o.Rest) }

// Machine is the kind of board: machine.
type Machine struct {
	Type   string    // "q35", "pc-i440fx-9.0"; absent: the newest i440fx
	VIOMMU string    // "intel", "virtio"
	AWBits int       // address width of the vIOMMU
	S3, S4 Opt[bool] // sleep and hibernation; absent: depends on the version of the machine
	Rest
}

var machineForm = form{name: "machine", key: "type"}

func (m *Machine) fields() []field {
	return []field{
		bind("type", &m.Type, text).or("pc"),
		bind("viommu", &m.VIOMMU, text),
		bind("aw-bits", &m.AWBits, natural),
		optFlag("enable-s3", &m.S3),
		optFlag("enable-s4", &m.S4),
	}
}

// ParseMachine parses the value of machine.
func ParseMachine(s string) (Machine, error) {
	var m Machine
	if err := machineForm.read(s, m.fields(), &m.Rest); err != nil {
		return Machine{}, err
	}
	return m, nil
}

func (m Machine) String() string { return machineForm.write(m.fields(), m.Rest) }

// Equal reports whether both are the same kind of board.
func (m Machine) Equal(o Machine) bool { return equal(m.fields(), o.fields(), m.Rest, o.Rest) }
