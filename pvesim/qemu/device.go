//go:build linux

package qemu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pvesim"
)

// object is something for QEMU, as in its JSON. The same is said on the
// command line and to the monitor, so that a device is the same whether it
// was plugged before the start or after: saved memory fits both.
type object map[string]any

// Where things are on the bus, as far as Proxmox says so.
const (
	slotAgent   = 3
	slotBalloon = 4
	slotSCSI    = 5
	slotAHCI    = 7
	slotVirtio  = 10 // and on
	slotNet     = 18 // and on
	slotPorts   = 28 // root ports of q35, and on

	maxVirtio, maxNet = 8, 8
)

// board knows where devices go on a kind of machine.
type board struct{ pcie bool }

func boardOf(m *pvesim.Machine) board { return board{pcie: m.Type == "q35"} }

// fixed is a place for a device that stays.
func (b board) fixed(slot int) object {
	return object{"bus": b.root(), "addr": fmt.Sprintf("0x%x", slot)}
}

func (b board) root() string {
	if b.pcie {
		return "pcie.0"
	}
	return "pci.0"
}

// Families of devices that can be plugged. On q35 each has a root port of
// its own: nothing else takes a device while the guest runs.
const (
	virtioPorts = iota
	netPorts
)

func (b board) pluggable(family, index int) object {
	if b.pcie {
		return object{"bus": rootPort(family, index)}
	}
	return b.fixed([]int{slotVirtio, slotNet}[family] + index)
}

func rootPort(family, index int) string { return fmt.Sprintf("port%d.%d", family, index) }

// rootPorts are all that a q35 has.
func (b board) rootPorts() []object {
	if !b.pcie {
		return nil
	}
	var list []object
	for family, n := range []int{maxVirtio, maxNet} {
		for i := range n {
			list = append(list, object{
				"driver": "pcie-root-port", "id": rootPort(family, i), "bus": "pcie.0", "chassis": 1 + family*8 + i,
				"addr": fmt.Sprintf("0x%x.0x%x", slotPorts+family, i), "multifunction": i == 0,
			})
		}
	}
	return list
}

func (o object) with(more object) object {
	out := object{}
	for k, v := range o {
		out[k] = v
	}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// diskNode is a disk as QEMU opens it, under the disk's own name. Nothing is
// flushed: these disks needn't outlive a power cut.
func (b *Backend) diskNode(disk string) object {
	return object{
		"driver": "qcow2", "node-name": disk, "discard": "unmap", "cache": object{"no-flush": true},
		"file": object{"driver": "file", "filename": b.diskFile(disk), "discard": "unmap", "cache": object{"no-flush": true}},
	}
}

func isoNode(key, file string) object {
	return object{
		"driver": "raw", "node-name": isoName(key), "read-only": true,
		"file": object{"driver": "file", "filename": file, "read-only": true},
	}
}

func isoName(key string) string { return "disc-" + key }

// split takes an option's name apart: "scsi12" is 12 of "scsi".
func split(key string) (family string, index int) {
	family = strings.TrimRight(key, "0123456789")
	index, _ = strconv.Atoi(key[len(family):])
	return family, index
}

// node is what a drive reads: a disk, a disc, or nothing.
func (b *Backend) node(d pvesim.MachineDrive) (object, bool) {
	switch {
	case d.Disk != "":
		return b.diskNode(d.Disk), true
	case d.ISO != "":
		return isoNode(d.Key, d.ISO), true
	}
	return nil, false
}

// driveDevice is the device that a drive is for the guest.
func driveDevice(m *pvesim.Machine, d pvesim.MachineDrive) (object, error) {
	family, index := split(d.Key)
	dev := object{"id": d.Key}
	switch {
	case d.Disk != "":
		dev["drive"] = d.Disk
	case d.ISO != "":
		dev["drive"] = isoName(d.Key)
	}
	if i := slices.Index(m.Boot, d.Key); i >= 0 && m.Kernel == nil {
		dev["bootindex"] = 100 + i
	}
	if serial := d.Opts["serial"]; serial != "" {
		dev["serial"] = serial
	}
	kind := "hd"
	if d.CDROM {
		kind = "cd"
	} else if d.Opts["ssd"] == "1" && family != "virtio" {
		dev["rotation_rate"] = 1
	}
	switch family {
	case "ide":
		dev["driver"], dev["bus"], dev["unit"] = "ide-"+kind, fmt.Sprintf("ide.%d", index/2), index%2
		if boardOf(m).pcie { // one drive a port
			dev["bus"], dev["unit"] = fmt.Sprintf("ide.%d", index), 0
		}
	case "sata":
		dev["driver"], dev["bus"], dev["unit"] = "ide-"+kind, fmt.Sprintf("ahci0.%d", index), 0
	case "scsi":
		dev["driver"], dev["bus"], dev["scsi-id"] = "scsi-"+kind, "scsihw0.0", index
	case "virtio":
		if index >= maxVirtio {
			return nil, fmt.Errorf("%s: real machines have virtio0 to virtio%d only", d.Key, maxVirtio-1)
		}
		dev["driver"], dev["num-queues"] = "virtio-blk-pci", 1
		dev = dev.with(boardOf(m).pluggable(virtioPorts, index))
	default:
		return nil, fmt.Errorf("%s: no such drive", d.Key)
	}
	return dev, nil
}

// nicModels are QEMU's names of network cards.
var nicModels = map[string]string{
	"virtio": "virtio-net-pci", "e1000": "e1000", "e1000-82540em": "e1000", "e1000-82544gc": "e1000-82544gc", "e1000-82545em": "e1000-82545em",
	"e1000e": "e1000e", "rtl8139": "rtl8139", "vmxnet3": "vmxnet3", "ne2k_pci": "ne2k_pci", "pcnet": "pcnet",
}

// nicDevice is a network card; its other end has the same name.
func nicDevice(m *pvesim.Machine, n pvesim.MachineNIC) (object, error) {
	_, index := split(n.Key)
	model := nicModels[n.Model]
	switch {
	case model == "":
		return nil, fmt.Errorf("%s: no network card %s in real machines", n.Key, n.Model)
	case index >= maxNet:
		return nil, fmt.Errorf("%s: real machines have net0 to net%d only", n.Key, maxNet-1)
	}
	// No ROM: nothing boots from this network, and looking takes time.
	dev := object{"driver": model, "id": n.Key, "netdev": n.Key, "mac": n.MAC, "romfile": ""}
	return dev.with(boardOf(m).pluggable(netPorts, index)), nil
}

// moduleBackend and moduleDevice are a memory module.
func moduleBackend(i int, mib int64) object {
	return object{"qom-type": "memory-backend-ram", "id": fmt.Sprintf("mem-dimm%d", i), "size": mib << 20}
}

func moduleDevice(i int) object {
	return object{"driver": "pc-dimm", "id": fmt.Sprintf("dimm%d", i), "memdev": fmt.Sprintf("mem-dimm%d", i)}
}

// cpuModel is what QEMU emulates: its plainest CPU, which is the fastest
// here, or all it can when the config asks for something newer.
func cpuModel(m *pvesim.Machine) string {
	switch m.CPU {
	case "", "kvm64", "qemu64":
		return "qemu64"
	}
	return "max"
}

// cpuDevice is the i-th CPU.
func cpuDevice(m *pvesim.Machine, i int) object {
	return object{
		"driver": cpuModel(m) + "-x86_64-cpu", "id": fmt.Sprintf("cpu%d", i),
		"socket-id": i / m.Cores, "core-id": i % m.Cores, "thread-id": 0,
	}
}
