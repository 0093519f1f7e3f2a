package pvesim

import (
	"strings"
	"testing"
	"time"
)

// running makes VM 100 with a system and starts it, so that its guest lets
// go of devices.
func (l *lab) running(options ...string) {
	l.t.Helper()
	l.create(append([]string{"scsihw", "virtio-scsi-pci", "scsi0", "local:0,import-from=local:import/os.qcow2"}, options...)...)
	l.start()
}

func TestSomeOptionsApplyAtOnceAndOthersWait(t *testing.T) {
	bothReleases(t, func(t *testing.T, l *lab) {
		l.running("agent", "1", "ostype", "l26")
		for key, value := range map[string]string{
			"name": "b", "description": "x", "tags": "a", "onboot": "1", "startup": "order=1", "hookscript": "local:snippets/hook.sh",
			"protection": "0", "shares": "500", "ciuser": "x", "ipconfig3": "ip=dhcp", "sshkeys": "", "vmstatestorage": "local",
			"balloon": "256", "cpulimit": "2", "cpuunits": "50", "tablet": "0", "usb0": "spice", "agent": "1,fstrim_cloned_disks=1",
			"net1": "virtio,bridge=vmbr0", "scsi4": "local:1", "virtio2": "local:1", "hotplug": "disk,network,usb",
		} {
			l.set(key, value)
			if l.waits(key) {
				t.Errorf("%s waits: %v", key, l.pending(key))
			}
		}
		for key, value := range map[string]string{
			"memory": "2048", "cores": "2", "sockets": "2", "vcpus": "1", "cpu": "host", "numa": "1", "vga": "qxl", "bios": "ovmf",
			"machine": "q35", "boot": "order=net1;scsi0", "ostype": "l24", "scsihw": "virtio-scsi-single", "serial0": "socket", "acpi": "0",
			"ide0": "local:1", "sata0": "local:1", "efidisk0": "local:1", "tpmstate0": "local:1", "args": "-s", "smbios1": "serial=YQ==",
			"virtiofs0": "share", "hostpci0": "0000:01:00.0", "rng0": "source=/dev/urandom", "watchdog": "ib700", "localtime": "1",
			"kvm": "0", "audio0": "device=AC97", "numa0": "cpus=0",
		} {
			before := l.config("current", "1")[key]
			l.set(key, value)
			if !l.waits(key) {
				t.Errorf("%s doesn't wait: %v", key, l.pending(key))
			}
			if now := l.config("current", "1")[key]; now != before {
				t.Errorf("%s is %v now, was %v", key, now, before)
			}
		}
		l.set("agent", "0")
		if !l.waits("agent") {
			t.Error("the agent's device goes while the VM runs")
		}
		l.set("revert", "agent,cores,ide0")
		for _, key := range []string{"agent", "cores", "ide0"} {
			if l.waits(key) {
				t.Errorf("%s still waits: %v", key, l.pending(key))
			}
		}
		if l.config()["unused0"] == nil {
			t.Error("the disk that was never plugged in is forgotten")
		}
	})
}

func TestWhatWaitsIsAppliedWhenTheVMIsOff(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.running("cores", "1", "ide2", "local:cloudinit")
		l.set("cores", "3", "delete", "scsihw")
		if got := l.pending("scsihw")["delete"]; got != 1.0 {
			t.Errorf("delete is %v", got)
		}
		l.set("sata2", "local:1")
		l.set("delete", "sata2", "force", "1")
		l.holds("cores", 3, "scsihw", nil, "sata2", nil)
		l.run("POST", labVM+"/status/stop")
		l.start()
		l.holds("cores", 3, "scsihw", nil, "sata2", nil)
		if item := l.pending("cores"); item["value"] != 3.0 || item["pending"] != nil {
			t.Errorf("cores: %v", item)
		}
	})
}

func TestDisksComeAndGoWhileTheVMRuns(t *testing.T) {
	bothReleases(t, func(t *testing.T, l *lab) {
		l.running("boot", "order=scsi0")
		l.set("scsi1", "local:1", "virtio1", "local:2")
		l.set("delete", "scsi1,virtio1")
		l.holds("scsi1", nil, "virtio1", nil, "unused0", "local:100/vm-100-disk-1.raw", "unused1", "local:100/vm-100-disk-2.raw")
		l.set("scsi1", "local:100/vm-100-disk-1.raw")
		l.set("scsi1", "local:100/vm-100-disk-2.raw") // the other in its place
		l.holds("scsi1", "local:100/vm-100-disk-2.raw,size=2G", "unused0", "local:100/vm-100-disk-1.raw", "unused1", nil)
		l.set("scsi1", "local:100/vm-100-disk-2.raw,mbps=10") // limits change at any time
		if l.waits("scsi1") {
			t.Errorf("limits wait: %v", l.pending("scsi1"))
		}
		l.set("scsi1", "local:100/vm-100-disk-2.raw,mbps=10,cache=none")
		if !l.waits("scsi1") {
			t.Error("the cache mode changes while the disk is in use")
		}
		l.invalid("scsi0", "hotplug problem - can't unplug bootdisk 'scsi0'\n", "delete", "scsi0")
		if !l.waits("scsi0") || !l.waits("boot") {
			t.Error("the removal of the boot disk doesn't wait")
		}
		l.set("revert", "scsi0")
		l.set("hotplug", "0")
		l.set("virtio4", "local:1")
		if !l.waits("virtio4") {
			t.Error("a disk is plugged in without hotplug")
		}
	})
}

func TestAGuestWithoutASystemKeepsItsPCIDevices(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("scsihw", "virtio-scsi-pci", "scsi0", "local:1", "scsi1", "local:1", "net0", "virtio,bridge=vmbr0")
		l.set("boot", "order=net0")
		l.start()
		started := time.Now()
		l.invalid("net0", "hotplug problem - error on hot-unplugging device 'net0' - still busy in guest?\n", "delete", "net0")
		if waited := time.Since(started); waited < 5*time.Second {
			t.Errorf("it waited for the guest %s only", waited)
		}
		l.set("delete", "scsi1") // needs no help of the guest
		l.holds("scsi1", nil)
		l.invalid("scsi0", "hotplug problem - error on hot-unplugging device 'scsihw0' - still busy in guest?\n", "delete", "scsi0")
		if exit, _ := l.ended(l.must("POST", labVM+"/config", "delete", "net0")); exit !=
			"400 Parameter verification failed. net0: hotplug problem - error on hot-unplugging device 'net0' - still busy in guest? " {
			t.Errorf("task ended with %q", exit)
		}
	})
}

func TestCDsAreChangedWhileTheVMRuns(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.running("ide2", "none", "sata1", "local:1")
		l.set("ide2", "local:iso/tiny.iso,media=cdrom")
		l.holds("ide2", "local:iso/tiny.iso,media=cdrom,size=64K")
		if l.waits("ide2") {
			t.Error("the disc waits")
		}
		l.invalid("sata1", "hotplug problem - unable to change media type\n", "sata1", "none,media=cdrom")
		l.set("ide2", "none")
		l.set("delete", "ide2")
		if got := l.pending("ide2")["delete"]; got != 1.0 {
			t.Errorf("the drive goes while the VM runs: %v", l.pending("ide2"))
		}
	})
}

func TestNetworkCardsAreRewired(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.running("net0", "virtio=BC:24:11:00:00:01,bridge=vmbr0")
		for _, value := range []string{
			"virtio=BC:24:11:00:00:01,bridge=vmbr0,link_down=1", "virtio=BC:24:11:00:00:01,bridge=vmbr1,tag=5,firewall=1",
			"virtio=BC:24:11:00:00:01,bridge=vmbr1,rate=2", "e1000=BC:24:11:00:00:02,bridge=vmbr0",
		} {
			l.set("net0", value)
			if l.waits("net0") {
				t.Errorf("%s waits", value)
			}
		}
		l.invalid("net0", "hotplug problem - bridge 'nope' is neither a linux nor an OVS bridge!\n", "net0", "e1000=BC:24:11:00:00:02,bridge=nope")
		l.set("revert", "net0")
		l.invalid("net4", "hotplug problem - VM 100 qmp command 'netdev_add' failed - network script "+
			"/usr/libexec/qemu-server/pve-bridge-hotplug failed with status 512\n", "net4", "virtio,bridge=nope")
		l.set("hotplug", "disk")
		l.set("net0", "e1000=BC:24:11:00:00:02,bridge=vmbr1")
		if l.waits("net0") {
			t.Error("rewiring needs hotplug")
		}
		l.set("net0", "virtio=BC:24:11:00:00:02,bridge=vmbr1")
		if !l.waits("net0") {
			t.Error("another card is plugged in without hotplug")
		}
	})
}

func TestCPUsAndMemoryArePluggedOnRequest(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.running("numa", "1", "hotplug", "cpu,memory,disk", "memory", "2048", "cores", "4", "vcpus", "1")
		l.set("vcpus", "3")
		l.set("vcpus", "2")
		l.invalid("vcpus", "hotplug problem - you can't add more vcpus than maxcpus\n", "vcpus", "5")
		l.set("revert", "vcpus")
		l.set("delete", "vcpus")
		l.holds("vcpus", nil)
		l.set("memory", "2100") // comes in modules
		l.holds("memory", "2560")
		l.set("memory", "1536")
		l.holds("memory", "1536")
		r := l.refuses(400, "Parameter verification failed.", "memory", "512")
		if text, _ := r.errors["memory"].(string); !strings.HasPrefix(text, "hotplug problem - memory can't be lower than 1024 MB") {
			t.Errorf("errors %q", r.errors)
		}
		l.invalid("memory", "hotplug problem - you cannot add more memory than max mem 524288 MB!\n", "memory", "600000")
		l.set("hotplug", "disk")
		if !l.waits("hotplug") {
			t.Error("memory hotplug is switched off while the VM runs")
		}
	})
}

func TestMemoryModulesDoubleAfterThirtyTwo(t *testing.T) {
	modules := memoryModules(1024, 1024+32*512+1, false)
	if len(modules) != 33 || modules[31] != 512 || modules[32] != 1024 {
		t.Errorf("%d modules, the last of %d MiB", len(modules), modules[len(modules)-1])
	}
}
