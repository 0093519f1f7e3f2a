package manifest

import (
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
)

// class is a VMClass in Proxmox' terms.
type class struct {
	options    options
	bios       string // canonical; only if the class says it
	secureBoot bool
	tpm        bool
	storage    string
	format     string
	extra      map[string]string
}

func (t *translator) readClasses() {
	t.classes = map[model.Key]*class{}
	each(t, func(s scope, c *api.VMClass) {
		s.checkName()
		t.classes[s.o.key] = s.class(&c.Spec)
	})
}

const mib = 1 << 20

func (s scope) class(spec *api.VMClassSpec) *class {
	c := &class{options: options{}, secureBoot: spec.Spec.SecureBoot, tpm: spec.Spec.TPM}
	s.classCPUs(c, spec)
	s.classMemory(c, spec)
	s.classHotplug(c, spec)
	s.classMachine(c, spec.Spec)
	if st := spec.Storage; st != nil {
		s.checkStorage("spec.storage.class", st.Class)
		c.storage = st.Class
		c.format = s.format("spec.storage.type", st.Type)
	}
	c.extra = s.extraConfig(spec.ExtraConfig, c.options)
	return c
}

// classCPUs: sockets and vcpus are always said, since a template's own would
// change how many CPUs there are.
func (s scope) classCPUs(c *class, spec *api.VMClassSpec) {
	sockets := max(1, spec.Sockets)
	most := max(spec.CPUs, spec.MaxCPUs)
	switch {
	case spec.CPUs == 0 && !s.o.says("spec.cpus"):
		s.fail("spec.cpus", "is missing")
	case spec.CPUs < 1 || spec.CPUs > mostCPUs:
		s.fail("spec.cpus", "want a number from 1 to %d, have %d", mostCPUs, spec.CPUs)
	case spec.Sockets < 0:
		s.fail("spec.sockets", "want a number from 1 on, have %d", spec.Sockets)
	case spec.MaxCPUs > mostCPUs:
		s.fail("spec.maxCPUs", "want a number up to %d, have %d", mostCPUs, spec.MaxCPUs)
	case spec.MaxCPUs != 0 && spec.MaxCPUs < spec.CPUs:
		s.fail("spec.maxCPUs", "is less than the %d of cpus", spec.CPUs)
	case most%sockets != 0:
		s.fail("spec.sockets", "%d CPUs can't be spread evenly over %d sockets", most, sockets)
	}
	c.options.set("cores", strconv.Itoa(most/sockets))
	c.options.set("sockets", strconv.Itoa(sockets))
	c.options.set("vcpus", "0")
	if spec.MaxCPUs > spec.CPUs {
		c.options.set("vcpus", strconv.Itoa(spec.CPUs))
	}
}

func (s scope) classMemory(c *class, spec *api.VMClassSpec) {
	if !s.countable("spec.memory", spec.Memory) || spec.MinMemory != nil && !s.countable("spec.minMemory", *spec.MinMemory) {
		return
	}
	memory := spec.Memory.Value()
	switch {
	case memory == 0 && !s.o.says("spec.memory"):
		s.fail("spec.memory", "is missing")
	case memory < 16*mib:
		s.fail("spec.memory", "want at least 16Mi, have %s%s", spec.Memory.String(), unitHint(spec.Memory, 255))
	}
	c.options.set("memory", strconv.FormatInt(wholeMiB(memory), 10))
	if least := spec.MinMemory; least != nil {
		switch {
		case least.Sign() < 0:
			s.fail("spec.minMemory", "is negative")
		case least.Value() > memory:
			s.fail("spec.minMemory", "is more than the %s of memory", spec.Memory.String())
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
func (s scope) countable(field string, q resource.Quantity) bool {
	if q.Cmp(mostBytes) > 0 {
		have := shortened(q.String())
		if q.Value() == math.MaxInt64 {
			have = "more than can be counted" // the amount was cut off there
		}
		s.fail(field, "want at most %s, have %s", mostBytes.String(), have)
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

func (s scope) classHotplug(c *class, spec *api.VMClassSpec) {
	hotplug := "network,disk,usb"
	if spec.MaxCPUs > 0 {
		hotplug += ",cpu"
	}
	if spec.HotplugMemory {
		if have, fits := wholeMiB(spec.Memory.Value()), pluggable(wholeMiB(spec.Memory.Value())); have != fits && have > 0 {
			s.fail("spec.memory", "can't be %dMi with hotplugMemory, since memory is plugged in by pieces; the next that can be is %dMi", have, fits)
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

func (s scope) classMachine(c *class, spec api.VMClassMachine) {
	board := spec.Machine
	if board == "i440fx" {
		board = "pc"
	}
	if s.checkWord("spec.spec.bios", spec.BIOS, "seabios", "bios", "uefi", "ovmf") && spec.BIOS != "" {
		c.bios = biosOption(spec.BIOS)
	}
	if spec.SecureBoot && c.bios != "ovmf" {
		s.fail("spec.spec.secureBoot", "needs bios: uefi")
	}
	if board == "" && c.bios == "ovmf" {
		board = "q35"
	}
	s.board(c, board)
	s.option(c.options, "spec.spec.cpuType", "cpu", spec.CPUType)
	s.option(c.options, "spec.spec.scsiController", "scsihw", spec.SCSIController)
	s.option(c.options, "spec.spec.vga", "vga", spec.VGA)
	if spec.Serial {
		c.options.set("serial0", "socket")
	}
}

func (s scope) board(c *class, board string) {
	if board == "" {
		return
	}
	if s.checker.check("machine", board) != nil {
		s.checkWord("spec.spec.machine", board, "q35", "i440fx", "a version of them such as pc-q35-9.0")
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
func (s scope) format(field, typ string) string {
	if !s.checkWord(field, typ, "thin", "thick") {
		return ""
	}
	return map[string]string{"thin": "qcow2", "thick": "raw"}[typ]
}
