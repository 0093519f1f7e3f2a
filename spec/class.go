package spec

import (
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/spec/suggest"
)

// class is a class in Proxmox' terms.
type class struct {
	name       string
	options    options
	bios       string // canonical; only if the class says it
	secureBoot bool
	tpm        bool
	storage    string
	format     string
	extra      map[string]string
}

// Class is the virtual hardware of machines.
type Class struct {
	Name          string // for messages
	CPUs          int
	MaxCPUs       int // that can be plugged in; 0: no more
	Sockets       int // 0: 1
	Memory        resource.Quantity
	MinMemory     *resource.Quantity // nil: as Proxmox has it
	HotplugMemory bool
	CPU           CPU
	NUMA          *NUMA  // nil: none
	Hugepages     string // 2Mi, 1Gi or any; empty: none
	KeepHugepages bool

	Machine        string // board: q35, i440fx or a version of them
	BIOS           string // seabios or uefi
	SecureBoot     bool
	TPM            bool
	CPUType        string
	SCSIController string
	VGA            string
	Serial         bool

	Storage     string            // of disks; empty: the cluster's default
	Type        string            // of disks: thin or thick
	ExtraConfig map[string]string // options as Proxmox names them
}

// Check returns the errors of a class, and notes for people.
func (c *Class) Check() (errs Errors, notes []*Error) {
	var r report
	r.class(c)
	return r.errs, r.notes
}

const mib = 1 << 20

func (r *report) class(spec *Class) *class {
	c := &class{options: options{}, name: spec.Name, secureBoot: spec.SecureBoot, tpm: spec.TPM}
	r.classCPUs(c, spec)
	r.classMemory(c, spec)
	r.classHotplug(c, spec)
	r.classMachine(c, spec)
	r.classUse(c, spec)
	r.classNUMA(c, spec)
	r.checkStorage("storage", spec.Storage)
	c.storage = spec.Storage
	c.format = r.format("type", spec.Type)
	c.extra = r.extraConfig(spec.ExtraConfig, c.options, true)
	return c
}

// classCPUs: sockets and vcpus are always said, since a template's own would
// change how many CPUs there are.
func (r *report) classCPUs(c *class, spec *Class) {
	sockets := max(1, spec.Sockets)
	most := max(spec.CPUs, spec.MaxCPUs)
	switch {
	case spec.CPUs < 1 || spec.CPUs > mostCPUs:
		r.fail("cpus", "want a number from 1 to %d, have %d", mostCPUs, spec.CPUs)
	case spec.Sockets < 0:
		r.fail("sockets", "want a number from 1 on, have %d", spec.Sockets)
	case spec.MaxCPUs > mostCPUs:
		r.fail("maxCPUs", "want a number up to %d, have %d", mostCPUs, spec.MaxCPUs)
	case spec.MaxCPUs != 0 && spec.MaxCPUs < spec.CPUs:
		r.fail("maxCPUs", "is less than the %d of cpus", spec.CPUs)
	case most%sockets != 0:
		r.fail("sockets", "%d CPUs can't be spread evenly over %d sockets", most, sockets)
	}
	c.options.set("cores", strconv.Itoa(most/sockets))
	c.options.set("sockets", strconv.Itoa(sockets))
	c.options.set("vcpus", "0")
	if spec.MaxCPUs > spec.CPUs {
		c.options.set("vcpus", strconv.Itoa(spec.CPUs))
	}
}

func (r *report) classMemory(c *class, spec *Class) {
	if !r.countable("memory", spec.Memory) || spec.MinMemory != nil && !r.countable("minMemory", *spec.MinMemory) {
		return
	}
	memory := spec.Memory.Value()
	if memory < 16*mib {
		r.fail("memory", "want at least 16Mi, have %s%s", spec.Memory.String(), unitHint(spec.Memory, 255))
	}
	c.options.set("memory", strconv.FormatInt(wholeMiB(memory), 10))
	if least := spec.MinMemory; least != nil {
		switch {
		case least.Sign() < 0:
			r.fail("minMemory", "is negative")
		case least.Value() > memory:
			r.fail("minMemory", "is more than the %s of memory", spec.Memory.String())
		}
		c.options.set("balloon", strconv.FormatInt(wholeMiB(least.Value()), 10))
	}
}

// mostBytes is more than there is anywhere. Further up, amounts can't be counted in
// bytes any more.
var mostBytes = resource.MustParse("1Ei")

// mostCPUs is more than any guest can have.
const mostCPUs = 4096

// countable reports whether an amount is a number of bytes that can be counted.
func (r *report) countable(field string, q resource.Quantity) bool {
	if q.Cmp(mostBytes) > 0 {
		have := suggest.Shortened(q.String())
		if q.Value() == math.MaxInt64 {
			have = "more than can be counted" // the amount was cut off there
		}
		r.fail(field, "want at most %s, have %s", mostBytes.String(), have)
		return false
	}
	return true
}

func wholeMiB(bytes int64) int64 { return (bytes + mib - 1) / mib }

// unitHint is for numbers without a unit, which count bytes. Up to mostGi, people mean
// gibibytes.
func unitHint(q resource.Quantity, mostGi int64) string {
	switch v := q.Value(); {
	case v <= 0 || v >= 1<<20:
		return ""
	case v <= mostGi:
		return "; did you mean " + strconv.FormatInt(v, 10) + "Gi?"
	default:
		return "; did you mean " + strconv.FormatInt(v, 10) + "Mi?"
	}
}

func (r *report) classHotplug(c *class, spec *Class) {
	hotplug := "network,disk,usb"
	if spec.MaxCPUs > 0 {
		hotplug += ",cpu"
	}
	if spec.HotplugMemory {
		if have, fits := wholeMiB(spec.Memory.Value()), pluggable(wholeMiB(spec.Memory.Value())); have != fits && have > 0 {
			r.fail("memory", "can't be %dMi with %s, since memory is plugged in by pieces; the next that can be is %dMi", have, called("hotplugMemory"), fits)
		}
		hotplug += ",memory"
		c.options.set("numa", "1") // Proxmox plugs memory into NUMA nodes
	}
	if spec.MaxCPUs > 0 || spec.HotplugMemory {
		c.options.set("hotplug", hotplug)
	}
}

// pluggable is the next amount of memory that Proxmox can put together of the
// pieces it plugs in: 32 of each size, twice as large each time.
func pluggable(mib int64) int64 {
	sum, piece := int64(1024), int64(512)
	for n := 0; sum < mib; n++ {
		if n > 0 && n%32 == 0 {
			piece *= 2
		}
		if n == 8*32 {
			return mib // more than Proxmox has, which it says itself
		}
		sum += piece
	}
	return sum
}

func (r *report) classMachine(c *class, spec *Class) {
	board := spec.Machine
	if board == "i440fx" {
		board = "pc"
	}
	if r.checkWord("bios", spec.BIOS, "seabios", "bios", "uefi", "ovmf") && spec.BIOS != "" {
		c.bios = biosOption(spec.BIOS)
	}
	if spec.SecureBoot && c.bios != "ovmf" {
		r.fail("secureBoot", "needs bios: uefi")
	}
	if board == "" && c.bios == "ovmf" {
		board = "q35"
	}
	r.board(c, board)
	r.classCPUType(c, spec)
	r.option(c.options, "scsiController", "scsihw", spec.SCSIController)
	r.option(c.options, "vga", "vga", spec.VGA)
	if spec.Serial {
		c.options.set("serial0", "socket")
	}
}

func (r *report) board(c *class, board string) {
	if board == "" {
		return
	}
	if checkOption("machine", board) != nil {
		r.checkWord("machine", board, "q35", "i440fx", "a version of them such as pc-q35-9.0")
		return
	}
	c.options.set("machine", board)
}

func biosOption(word string) string {
	if word == "uefi" || word == "ovmf" {
		return "ovmf"
	}
	return "seabios"
}

// format is the format of disks on storages that keep them as files.
func (r *report) format(field, typ string) string {
	if !r.checkWord(field, typ, "thin", "thick") {
		return ""
	}
	return map[string]string{"thin": "qcow2", "thick": "raw"}[typ]
}
