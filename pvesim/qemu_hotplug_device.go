package pvesim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pve/schema"
)

// unplug takes a device out of a VM that runs. Devices on the PCI bus go
// when the guest lets go of them, disks on a SCSI controller at once.
func (c *changer) unplug(key string) error {
	conf := c.d.conf
	if _, ok := conf[key]; !ok {
		return nil
	}
	if isDriveKey[key] && slices.Contains(conf.bootOrder(), key) {
		return die("can't unplug bootdisk '%s'", key)
	}
	if c.machines != nil {
		return c.plug(key, "")
	}
	if !family(key, "scsi") {
		return c.letGo(key, 5)
	}
	index := atoi(strings.TrimPrefix(key, "scsi"))
	perController := 256
	switch scsihw := conf["scsihw"]; {
	case scsihw == "virtio-scsi-single":
		return c.letGo(fmt.Sprintf("virtioscsi%d", index), 15)
	case scsihw == "" || strings.HasPrefix(scsihw, "lsi"):
		perController = 7
	}
	controller := index / perController
	for _, d := range conf.drives() {
		if other := strings.TrimPrefix(d.key, "scsi"); other != d.key && d.key != key && atoi(other) < (perController-1)*(controller+1) {
			return nil // the controller is still needed
		}
	}
	return c.letGo(fmt.Sprintf("scsihw%d", controller), 15)
}

// letGo waits for the guest to give a device back.
func (c *changer) letGo(device string, seconds int) error {
	if c.vm.Run.up(c.now()) {
		return nil
	}
	c.sleep(time.Duration(seconds+1) * time.Second)
	return die("error on hot-unplugging device '%s' - still busy in guest?", device)
}

// changeNet changes a network card. Its connection can change at any time,
// the card itself is unplugged and plugged again.
func (c *changer) changeNet(key, value string, can bool) error {
	now, ok := c.parseNet(c.vm.ID, key, value)
	if !ok {
		return errSkip
	}
	bridge := now.Get("bridge")
	if old := c.d.conf[key]; old != "" {
		was, ok := c.parseNet(c.vm.ID, key, old)
		if !ok {
			was = &schema.Props{}
		}
		if !differ(was, now, "model", "macaddr", "queues", "mtu") && was.Has("bridge") && now.Has("bridge") {
			if differ(was, now, "bridge", "tag", "trunks", "firewall") && !c.hasBridge(c.vm.Node, bridge) {
				return die("bridge '%s' is neither a linux nor an OVS bridge!", bridge)
			}
			return nil
		}
		if !can {
			return errSkip
		}
		if err := c.unplug(key); err != nil {
			return err
		}
	}
	if !can {
		return errSkip
	}
	if bridge != "" && !c.hasBridge(c.vm.Node, bridge) {
		return die("VM %d qmp command 'netdev_add' failed - network script /usr/libexec/qemu-server/pve-bridge-hotplug failed with status 512", c.vm.ID)
	}
	return nil
}

// coldDriveOptions of a disk can't change while it is plugged in.
var coldDriveOptions = []string{"aio", "discard", "iothread", "queues", "product", "cache", "ssd", "vendor", "ro"}

// changeDisk changes a drive: a disc in its CD-ROM drive, limits of a disk,
// or one disk for another.
func (c *changer) changeDisk(key, value string, can bool) error {
	now := parseDrive(key, value)
	if old := c.d.conf[key]; old != "" {
		was := parseDrive(key, old)
		switch {
		case was.cdrom() != now.cdrom():
			return die("unable to change media type")
		case was.cdrom():
			if now.volume == "none" && was.cloudInit() {
				return c.registerUnused(was)
			}
			return nil
		case was.volume == now.volume:
			for _, o := range coldDriveOptions {
				if was.has(o) != now.has(o) || was.opt(o) != now.opt(o) {
					return errSkip
				}
			}
			return nil
		case !can:
			return errSkip
		}
		if err := c.unplug(key); err != nil {
			return err
		}
		if err := c.registerUnused(was); err != nil {
			return err
		}
	}
	return skipIf(!can || family(key, "ide") || family(key, "sata"))
}

// plugCPUs changes the number of CPUs; "" is as many as the VM can have.
func (c *changer) plugCPUs(vcpus string) error {
	conf := c.d.conf
	most := max(1, conf.number("sockets", 1)) * max(1, conf.number("cores", 1))
	want, err := strconv.Atoi(vcpus)
	if err != nil || want == 0 {
		want = most
	}
	if want > most {
		return die("you can't add more vcpus than maxcpus")
	}
	have := conf.number("vcpus", 0)
	if have == 0 {
		have = most
	}
	for ; have > want; have-- {
		if !c.vm.Run.up(c.now()) {
			c.sleep(6 * time.Second)
			return badParam("vcpus", "error unplugging cpu%d", have)
		}
		conf["vcpus"] = strconv.Itoa(have - 1)
	}
	for ; have < want; have++ {
		conf["vcpus"] = strconv.Itoa(have + 1)
	}
	return nil
}

// staticMemory is what memory hotplug can't take away, in MiB.
const staticMemory = 1024

// plugMemory changes the memory, module by module: it comes in pieces of
// 512 MiB, and larger ones when there are many.
func (c *changer) plugMemory(value string) (string, error) {
	conf := c.d.conf
	have, want := memoryOf(conf)>>20, memoryOf(Conf{"memory": value})>>20
	if have == want {
		return value, nil
	}
	static := int64(staticMemory)
	if conf["hugepages"] == "1024" {
		static *= int64(max(1, conf.number("sockets", 1)))
	}
	if want < static {
		return "", die("memory can't be lower than %d MB at /usr/share/perl5/PVE/QemuServer/Memory.pm line 213.", static)
	}
	if most := maxMemory(conf); want > most {
		return "", die("you cannot add more memory than max mem %d MB!", most)
	}
	modules := memoryModules(static, max(have, want), conf["hugepages"] == "1024")
	size := static
	if want > have {
		for _, m := range modules {
			size += m
			if size >= want {
				break
			}
		}
		return strconv.FormatInt(size, 10), nil
	}
	size = have
	for i := len(modules) - 1; i >= 0 && size > want; i-- {
		c.logf("try to unplug memory dimm dimm%d", i)
		if !c.vm.Run.up(c.now()) {
			c.sleep(21 * time.Second)
			return "", badParam(fmt.Sprintf("dimm%d", i), "error unplug memory module")
		}
		c.sleep(3 * time.Second)
		size -= modules[i]
		conf["memory"] = strconv.FormatInt(size, 10)
	}
	return strconv.FormatInt(size, 10), nil
}

// memoryModules are the sizes of the modules above the static memory: 32 of
// each size, then twice as large ones.
func memoryModules(static, total int64, large bool) []int64 {
	size := int64(512)
	if large {
		size = 1024
	}
	var list []int64
	for sum := static; sum < total && len(list) < 256; sum += size {
		if len(list) > 0 && len(list)%32 == 0 {
			size *= 2
		}
		list = append(list, size)
	}
	return list
}

// hostAddressBits is how much memory a simulated host's CPU can address.
const hostAddressBits = 46

// maxMemory is the most memory, in MiB, that a VM can be given by hotplug.
func maxMemory(conf Conf) int64 {
	bits := 40
	if model, _ := property(conf["cpu"], "cputype", "cputype"); model == "host" || model == "max" {
		bits = hostAddressBits
	}
	switch phys, _ := property(conf["cpu"], "phys-bits", "cputype"); phys {
	case "":
	case "host":
		bits = hostAddressBits
	default:
		bits = atoi(phys)
	}
	return min(4<<20, int64(1)<<max(0, bits&^1-21))
}
