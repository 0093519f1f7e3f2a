package spec

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/spec/suggest"
)

// CPU are settings of the CPUs.
type CPU struct {
	Flags    []string // "+aes", "-pcid"
	Limit    string   // how many CPUs of the node it may use
	Units    int      // weight; 0: as Proxmox has it
	Affinity string   // CPUs of the node: "0-3,8"
}

// NUMA shows NUMA nodes to the guest.
type NUMA struct {
	Nodes []NUMANode // none: one for each socket
}

// NUMANode is a NUMA node of the guest.
type NUMANode struct {
	CPUs      string // of the guest: "0-1;4"
	Memory    resource.Quantity
	HostNodes string
	Policy    string
}

// maxUnits is the largest weight: Proxmox keeps no larger one.
const maxUnits = 10000

// classCPUType is the kind of processor, with its flags.
func (r *report) classCPUType(c *class, spec *Class) {
	value := spec.CPUType
	if len(spec.CPU.Flags) > 0 {
		switch {
		case value == "":
			r.fail("cpu.flags", "needs %s: flags are added to a kind of processor, such as host", called("cpuType"))
			return
		case strings.Contains(value, "flags="):
			r.fail("cpu.flags", "%s has flags already: leave them out there", called("cpuType"))
			return
		}
		if err := checkOption("cpu", value); err == nil {
			r.option(c.options, "cpu.flags", "cpu", value+",flags="+strings.Join(spec.CPU.Flags, ";"))
			return
		}
	}
	r.option(c.options, "cpuType", "cpu", value)
}

// classUse says how much of its node's CPUs a machine gets, and which.
func (r *report) classUse(c *class, spec *Class) {
	r.option(c.options, "cpu.limit", "cpulimit", spec.CPU.Limit)
	switch u := spec.CPU.Units; {
	case u < 0 || u > maxUnits:
		r.fail("cpu.units", "want a number from 1 to %d, have %d", maxUnits, u)
	case u > 0:
		c.options.set("cpuunits", strconv.Itoa(u))
	}
	r.option(c.options, "cpu.affinity", "affinity", spec.CPU.Affinity)
	if spec.CPU.Affinity+spec.Hugepages != "" {
		r.tell("cpu.affinity", "only root@pam itself, with its password, may set affinity and hugepages; API tokens may not")
	}
}

// classNUMA is the layout of memory, and the pages that it is made of.
func (r *report) classNUMA(c *class, spec *Class) {
	memory := wholeMiB(spec.Memory.Value())
	if spec.NUMA != nil {
		c.options.set("numa", "1")
		r.numaNodes(c, spec, memory)
	}
	size := map[string]int64{"": 1, "any": 2, "2Mi": 2, "1Gi": 1024}[spec.Hugepages]
	switch {
	case !r.checkWord("hugepages", spec.Hugepages, "2Mi", "1Gi", "any"):
	case spec.Hugepages == "" && spec.KeepHugepages:
		r.fail("keepHugepages", "needs %s", called("hugepages"))
	case spec.Hugepages == "":
	case c.options["numa"] == "" && spec.ExtraConfig["numa"] != "1":
		r.fail("hugepages", "needs NUMA: add %s: {}", called("numa"))
	case memory%size != 0:
		r.fail("memory", "isn't a multiple of %dMi, which %s takes", size, called("hugepages"))
	default:
		c.options.set("hugepages", map[string]string{"any": "any", "2Mi": "2", "1Gi": "1024"}[spec.Hugepages])
		if spec.KeepHugepages {
			c.options.set("keephugepages", "1")
		}
	}
}

// maxNUMA is how many NUMA nodes Proxmox takes.
const maxNUMA = 8

// numaNodes are the NUMA nodes that are listed.
func (r *report) numaNodes(c *class, spec *Class, memory int64) {
	nodes := spec.NUMA.Nodes
	switch {
	case len(nodes) == 0:
		return
	case len(nodes) > maxNUMA:
		r.fail("numa.nodes", "a guest has at most %d NUMA nodes", maxNUMA)
		return
	case spec.HotplugMemory:
		r.fail("numa.nodes", "memory can't be plugged into NUMA nodes that are listed: leave out one of %s and %s", called("hotplugMemory"), called("numa.nodes"))
	}
	var sum int64
	most, cpus := max(spec.CPUs, spec.MaxCPUs), map[int]bool{}
	for i, n := range nodes {
		field := fmt.Sprintf("numa.nodes[%d]", i)
		mib := wholeMiB(n.Memory.Value())
		sum += mib
		if mib <= 0 {
			r.fail(field+".memory", "is missing")
		}
		switch {
		case n.HostNodes == "" && spec.Hugepages != "":
			r.fail(field+".hostNodes", "is missing: with %s, memory comes from nodes of the host that are named; give %s, too, such as bind", called("hugepages"), called("policy"))
		case (n.HostNodes == "") != (n.Policy == ""):
			r.fail(field+".policy", "goes with %s: give both, or none", called("hostNodes"))
		}
		r.numaCPUs(field+".cpus", n.CPUs, most, cpus)
		value := prop.NUMA{CPUs: list(n.CPUs), Memory: float64(mib), HostNodes: list(n.HostNodes), Policy: n.Policy}
		r.option(c.options, field, "numa"+strconv.Itoa(i), value.String())
	}
	if sum != memory && sum > 0 {
		r.fail("numa.nodes", "have %dMi of memory together, and the class has %dMi", sum, memory)
	}
}

// list are the ranges of a list of numbers: "0-1;4".
func list(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ';' || c == ',' || c == ' ' })
}

// numaCPUs checks the CPUs of a NUMA node: those that the guest has, each in one node.
func (r *report) numaCPUs(field, text string, most int, taken map[int]bool) {
	parts := list(text)
	if len(parts) == 0 {
		r.fail(field, "is missing")
	}
	for _, part := range parts {
		from, to, is := strings.Cut(part, "-")
		if !is {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, bits.UintSize-1)
		last, also := strconv.ParseUint(to, 10, bits.UintSize-1)
		switch {
		case err != nil || also != nil || first > last:
			r.fail(field, "want CPUs such as 0-1;4, have %q", suggest.Shortened(text))
			return
		case int(last) >= most:
			r.fail(field, "names CPU %d, and the guest has %d, from 0 on", last, most)
			return
		}
		for cpu := int(first); cpu <= int(last); cpu++ {
			if taken[cpu] {
				r.fail(field, "CPU %d is in another node, too", cpu)
				return
			}
			taken[cpu] = true
		}
	}
}
