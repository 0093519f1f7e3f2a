//go:build linux

package qemu

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/firstboot/qemuarg"
	"github.com/proxplane/proxplane/pvesim"
)

const (
	uefiCode   = "OVMF_CODE_4M.fd"
	uefiSecure = "OVMF_CODE_4M.secboot.fd" // keeps its variables from systems that change them
	uefiVars   = "OVMF_VARS_4M.fd"
	uefiKeys   = "OVMF_VARS_4M.ms.fd"

	// Memory that can be plugged has a limit from the start.
	maxPluggedMiB, memorySlots = 64 << 10, 32
	// shareMemory is the name of memory that is shared with virtiofsd.
	shareMemory = "virtiofs-mem"
)

// wires are the descriptors that a guest's parts hang on.
type wires struct {
	qmp, agent int
	serial     []int          // in the order of Machine.Serial
	nics       map[string]int // by option
}

// commandLine is how QEMU is started.
func (b *Backend) commandLine(m *pvesim.Machine, w wires) ([]string, error) {
	c := &command{}
	brd := boardOf(m)
	c.add("-name", m.Name, "-no-user-config", "-nodefaults", "-display", "none", "-vga", "none", "-accel", "tcg", "-machine", m.Type, "-cpu", cpuModel(m))
	if m.UUID != "" {
		c.add("-uuid", m.UUID)
	}
	c.cpus(m)
	c.memory(m)
	c.add("-chardev", fmt.Sprintf("socket,id=qmp,fd=%d", w.qmp), "-mon", "chardev=qmp,mode=control")
	for i, port := range m.Serial {
		c.add("-chardev", fmt.Sprintf("socket,id=serial%d,fd=%d", port, w.serial[i]), "-device", fmt.Sprintf("isa-serial,index=%d,chardev=serial%d", port, port))
	}
	for _, port := range brd.rootPorts() {
		c.device(port)
	}
	if m.Agent {
		c.add("-chardev", fmt.Sprintf("socket,id=qga0,fd=%d", w.agent))
		c.device(object{"driver": "virtio-serial-pci", "id": "qga0"}.with(brd.fixed(slotAgent)))
		c.device(object{"driver": "virtserialport", "chardev": "qga0", "name": "org.qemu.guest_agent.0"})
	}
	if m.Balloon {
		c.device(object{"driver": "virtio-balloon-pci", "id": "balloon0"}.with(brd.fixed(slotBalloon)))
	}
	if err := b.firmware(c, m); err != nil {
		return nil, err
	}
	if err := b.drives(c, m); err != nil {
		return nil, err
	}
	for _, n := range m.NICs {
		dev, err := nicDevice(m, n)
		if err != nil {
			return nil, err
		}
		c.add("-netdev", fmt.Sprintf("dgram,id=%s,local.type=fd,local.str=%d", n.Key, w.nics[n.Key]))
		c.device(dev)
	}
	for i, s := range m.Shares {
		id := fmt.Sprintf("virtiofs%d", i)
		c.add("-chardev", fmt.Sprintf("socket,id=%s,path=%s", id, shareSocket(i)))
		c.device(object{"driver": "vhost-user-fs-pci", "id": id, "chardev": id, "tag": s.Tag, "queue-size": 1024})
	}
	if m.Saved != "" {
		c.add("-S")
	}
	words, err := qemuarg.Split(m.Args)
	if err != nil {
		return nil, fmt.Errorf("args: %w", err)
	}
	for _, word := range words {
		c.add(b.located(m.Node, word))
	}
	return c.args, c.err
}

// command is a command line being written.
type command struct {
	args []string
	err  error
}

func (c *command) add(args ...string) { c.args = append(c.args, args...) }

func (c *command) json(option string, o object) {
	b, err := json.Marshal(o)
	if err != nil {
		c.err = err
	}
	c.add(option, string(b))
}

// device adds a device. QEMU makes those that are given in JSON after all
// others, and "args" may have others: they would take the places of ours.
func (c *command) device(o object) {
	words := []string{fmt.Sprint(o["driver"])}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		value := fmt.Sprint(o[key])
		switch key {
		case "driver":
			continue
		case "multifunction":
			value = map[string]string{"true": "on", "false": "off"}[value]
		}
		words = append(words, key+"="+strings.ReplaceAll(value, ",", ",,"))
	}
	c.add("-device", strings.Join(words, ","))
}

func (c *command) cpus(m *pvesim.Machine) {
	most := m.Sockets * m.Cores
	if m.CPUs >= most {
		c.add("-smp", fmt.Sprintf("%d,sockets=%d,cores=%d,maxcpus=%d", most, m.Sockets, m.Cores, most))
		return
	}
	c.add("-smp", fmt.Sprintf("1,sockets=%d,cores=%d,maxcpus=%d", m.Sockets, m.Cores, most))
	for i := 1; i < m.CPUs; i++ {
		c.device(cpuDevice(m, i))
	}
}

func (c *command) memory(m *pvesim.Machine) {
	switch {
	case m.Pluggable:
		c.add("-m", fmt.Sprintf("size=%dM,slots=%d,maxmem=%dM", m.Memory, memorySlots, maxPluggedMiB))
	default:
		c.add("-m", fmt.Sprintf("%dM", m.Memory))
	}
	if len(m.Shares) > 0 {
		c.json("-object", object{"qom-type": "memory-backend-memfd", "id": shareMemory, "size": m.Memory << 20, "share": true})
		c.add("-machine", "memory-backend="+shareMemory)
	}
	for i, mib := range m.Modules {
		c.json("-object", moduleBackend(i, mib))
		c.device(moduleDevice(i))
	}
}

func (b *Backend) firmware(c *command, m *pvesim.Machine) error {
	if m.Kernel != nil {
		c.add("-kernel", m.Kernel.Kernel)
		if m.Kernel.Initrd != "" {
			c.add("-initrd", m.Kernel.Initrd)
		}
		if m.Kernel.Append != "" {
			c.add("-append", m.Kernel.Append)
		}
	}
	if !m.UEFI {
		return nil
	}
	if b.tools.ovmf == "" {
		return fmt.Errorf("%s isn't installed (Debian: apt-get install ovmf)", uefiCode)
	}
	file := func(name string) object {
		return object{"driver": "file", "filename": filepath.Join(b.tools.ovmf, name), "read-only": true}
	}
	code := uefiCode
	if boardOf(m).pcie { // as Proxmox does: the other board can't protect anything
		code = uefiSecure
		c.add("-machine", "smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on")
	}
	c.json("-blockdev", object{"driver": "raw", "node-name": "uefi-code", "read-only": true, "file": file(code)})
	c.add("-machine", "pflash0=uefi-code")
	if m.Vars != "" {
		c.json("-blockdev", b.diskNode(m.Vars))
		c.add("-machine", "pflash1="+m.Vars)
	}
	return nil
}

// drives adds the controllers and what hangs on them. There is always one
// for SCSI, so that disks can be plugged.
func (b *Backend) drives(c *command, m *pvesim.Machine) error {
	brd := boardOf(m)
	// QEMU would take as many queues as there are CPUs at the start, and
	// saved memory of a guest with another number wouldn't fit.
	scsi := object{"driver": "virtio-scsi-pci", "id": "scsihw0", "num_queues": 1}
	if m.SCSI == "" || m.SCSI == "lsi" {
		scsi = object{"driver": "lsi53c895a", "id": "scsihw0"}
	}
	c.device(scsi.with(brd.fixed(slotSCSI)))
	sata := func(d pvesim.MachineDrive) bool { family, _ := split(d.Key); return family == "sata" }
	if slices.ContainsFunc(m.Drives, sata) {
		c.device(object{"driver": "ahci", "id": "ahci0"}.with(brd.fixed(slotAHCI)))
	}
	for _, d := range m.Drives {
		dev, err := driveDevice(m, d)
		if err != nil {
			return err
		}
		if node, ok := b.node(d); ok {
			c.json("-blockdev", node)
		}
		c.device(dev)
	}
	return nil
}
