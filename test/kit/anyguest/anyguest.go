// Package anyguest has guests that people made by hand, and draws others: what is in
// Proxmox isn't only what proxplane puts there.
package anyguest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/pve"
)

// ByHand are machines that somebody has made without proxplane, each with
// something of its own.
var ByHand = []struct {
	Reason string
	Config pve.Settings
}{
	{"small and plain", pve.Settings{"name": "plain", "memory": "1024", "scsi0": "local-lvm:8", "net0": "virtio,bridge=vmbr0"}},
	{"what Proxmox' defaults are", pve.Settings{"name": "defaults", "virtio0": "local-lvm:4", "net0": "e1000,bridge=vmbr0"}},
	{"UEFI with secure boot and a TPM", pve.Settings{
		"name": "Secure.Example", "memory": "2048", "cores": "2", "sockets": "2", "bios": "ovmf", "machine": "q35",
		"efidisk0": "local-lvm:1,efitype=4m,pre-enrolled-keys=1", "tpmstate0": "local-lvm:1,version=v2.0",
		"scsi0": "local-lvm:32,discard=on,ssd=1,iothread=1", "scsihw": "virtio-scsi-single", "net0": "virtio,bridge=vmbr0", "cpu": "host", "boot": "order=scsi0",
	}},
	{"several disks on several buses", pve.Settings{
		"name": "disks", "scsi1": "local-lvm:5,cache=writeback", "virtio3": "nfs:6,format=qcow2", "sata0": "local-lvm:2,backup=0", "scsi0": "nfs:10,format=raw",
		"boot": "order=scsi1;net0", "net0": "virtio,bridge=vmbr0",
	}},
	{"several networks", pve.Settings{
		"name": "networks", "scsi0": "local-lvm:4", "net0": "virtio,bridge=vmbr0,tag=20,firewall=1", "net1": "vmxnet3,bridge=vmbr1,rate=12.5", "net2": "virtio,bridge=vmbr2,mtu=1400,queues=4,link_down=1",
		"ipconfig0": "ip=10.0.0.4/24,gw=10.0.0.1,ip6=fd00::4/64", "ipconfig2": "ip6=auto", "nameserver": "1.1.1.1 9.9.9.9", "searchdomain": "lan example.com", "ide2": "local-lvm:cloudinit",
	}},
	{"many options", pve.Settings{
		"name": "options", "scsi0": "local-lvm:4", "net0": "virtio,bridge=vmbr0", "memory": "3000", "balloon": "1500", "cpulimit": "1.5", "cpuunits": "200",
		"onboot": "1", "startup": "order=2,up=10", "protection": "1", "agent": "1", "ostype": "win11", "tablet": "0", "hotplug": "network,disk", "numa": "1",
		"serial0": "socket", "vga": "serial0", "tags": "b;a", "description": "Zeile eins\n\n- a: \"b\"\n", "watchdog": "model=i6300esb,action=reset", "rng0": "source=/dev/urandom",
		"ciuser": "me", "sshkeys": "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIMkbiUWuKQ%2FgILaqiLjoexoAz%2FwhiNMn28Tt6DCaQxF0",
	}},
	{"a user and keys for cloud-init", pve.Settings{
		"name": "cloud", "scsi0": "local-lvm:4", "net0": "virtio,bridge=vmbr0", "ide2": "local-lvm:cloudinit", "ciuser": "me", "sshkeys": "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIMkbiUWuKQ%2FgILaqiLjoexoAz%2FwhiNMn28Tt6DCaQxF0", "ipconfig0": "ip=dhcp",
	}},
	{"CPUs and memory that can be plugged", pve.Settings{
		"name": "pluggable", "scsi0": "local-lvm:4", "net0": "virtio,bridge=vmbr0", "cores": "8", "vcpus": "2", "memory": "2048", "numa": "1", "hotplug": "network,disk,usb,cpu,memory",
	}},
	{"no balloon", pve.Settings{"name": "rigid", "scsi0": "local-lvm:4", "net0": "virtio,bridge=vmbr0", "balloon": "0"}},
	{"neither disks nor interfaces", pve.Settings{"name": "empty", "boot": "order=net0"}},
	{"interfaces with gaps, old cards, and one without a bridge", pve.Settings{
		"name": "gaps", "scsi0": "local-lvm:4", "net1": "ne2k_pci,bridge=vmbr0", "net4": "virtio,bridge=vmbr1,trunks=2;5", "net31": "i82551,bridge=vmbr2", "net2": "virtio",
		"ide2": "local-lvm:cloudinit", "ipconfig1": "ip=10.0.0.9/24", "ipconfig4": "ip6=dhcp", "nameserver": "1.1.1.1",
	}},
	{"drives of all sorts", pve.Settings{
		"name": "drives", "ide0": "local-lvm:4", "ide2": "nfs:1,format=qcow2", "ide1": "none,media=cdrom", "sata3": "none,media=cdrom", "scsi7": "local-lvm:1,serial=abc,aio=threads,mbps_rd=10",
		"virtio15": "nfs:1,format=vmdk", "scsihw": "megasas", "boot": "order=ide0;ide1",
	}},
	{"legacy firmware", pve.Settings{
		"name": "firmware", "bios": "ovmf", "efidisk0": "local-lvm:1,efitype=2m", "tpmstate0": "local-lvm:1,version=v1.2", "virtio0": "local-lvm:4", "net0": "virtio,bridge=vmbr0", "machine": "pc-i440fx-9.0",
	}},
	{"devices of the host", pve.Settings{
		"name": "devices", "scsi0": "local-lvm:4", "machine": "q35", "hostpci0": "0000:01:00.0,pcie=1,rombar=0", "usb0": "host=1234:5678,usb3=1", "usb1": "spice", "serial1": "/dev/ttyS0", "parallel0": "/dev/parport0",
		"audio0": "device=ich9-intel-hda,driver=spice", "args": "-device virtio-balloon", "cpu": "cputype=host,flags=+aes;-pcid", "numa0": "cpus=0-1,memory=512", "numa": "1", "cores": "2",
	}},
}

// Options has values that Proxmox takes for options.
var Options = map[string][]string{
	"acpi": {"0", "1"}, "agent": {"1", "enabled=1,fstrim_cloned_disks=1", "0", "1,type=isa"}, "arch": {"x86_64"}, "args": {"-no-hpet"},
	"audio0": {"device=AC97", "device=intel-hda,driver=none"}, "autostart": {"1"}, "balloon": {"0", "256", "512"}, "bios": {"seabios", "ovmf"},
	"boot": {"order=scsi0", "order=net0;ide2", "cdn", "order=virtio3;scsi1"}, "cicustom": {"user=local:snippets/x.yaml"}, "cipassword": {"secret"},
	"citype": {"nocloud", "configdrive2"}, "ciupgrade": {"0", "1"}, "ciuser": {"me"}, "cores": {"1", "2", "7", "16"}, "cpu": {"host", "qemu64", "cputype=max,flags=+aes", "kvm64,hidden=1", "x86-64-v2-AES"},
	"cpulimit": {"0.5", "3"}, "cpuunits": {"50", "1024"}, "description": {"eins\nzwei", " - x: \"y\"", "#"}, "freeze": {"1"}, "hookscript": {"local:snippets/hook.pl"},
	"hostpci0": {"0000:01:00", "mapping=gpu,pcie=1", "01:00.1,x-vga=1"}, "hotplug": {"0", "1", "disk", "network,disk,usb,memory,cpu"}, "hugepages": {"2"},
	"ivshmem": {"size=32,name=x"}, "keyboard": {"de"}, "kvm": {"0", "1"}, "localtime": {"1", "0"}, "machine": {"q35", "pc", "pc-q35-9.0", "type=q35,viommu=virtio", "pc-i440fx-8.1"},
	"memory": {"16", "512", "777", "4096", "current=2048"}, "migrate_downtime": {"0.2"}, "migrate_speed": {"10"}, "nameserver": {"1.1.1.1", "9.9.9.9 1.1.1.1", "fd00::1"},
	"numa": {"1"}, "numa0": {"cpus=0,memory=256"}, "onboot": {"0", "1"}, "ostype": {"l26", "win11", "other", "solaris"}, "parallel0": {"/dev/parport0"}, "protection": {"1", "0"}, "reboot": {"0"},
	"rng0": {"source=/dev/urandom,max_bytes=1024"}, "scsihw": {"lsi", "lsi53c810", "virtio-scsi-pci", "virtio-scsi-single", "megasas", "pvscsi"}, "searchdomain": {"lan", "a.example b.example"},
	"serial0": {"socket", "/dev/ttyS1"}, "shares": {"500"}, "smbios1": {"uuid=11111111-2222-3333-4444-555555555555,serial=x"}, "sockets": {"1", "2", "4"}, "spice_enhancements": {"videostreaming=all"},
	"sshkeys": {"ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIMkbiUWuKQ%2FgILaqiLjoexoAz%2FwhiNMn28Tt6DCaQxF0"}, "startdate": {"2006-06-17T16:01:21"}, "startup": {"order=1", "up=3,down=4", "7"},
	"tablet": {"0"}, "tags": {"a", "b;a", "x-1;Y"}, "tdf": {"1"}, "usb0": {"host=1-1.2", "spice,usb3=1", "mapping=stick"}, "usb4": {"host=1234:abcd"}, "vcpus": {"1"}, "vga": {"none", "qxl,memory=32", "serial0", "std", "virtio"},
	"virtiofs0": {"dirid=share,cache=auto"}, "vmgenid": {"0", "11111111-2222-3333-4444-555555555555"}, "vmstatestorage": {"local"}, "watchdog": {"i6300esb,action=reset"},
	"unused0": {"local-lvm:vm-999-disk-77"}, "unused5": {"nfs:999/vm-999-disk-78.qcow2"}, "ipconfig0": {"ip=dhcp", "ip=10.0.0.2/24,gw=10.0.0.1", "ip6=auto", "ip=manual"}, "ipconfig3": {"ip=10.0.1.2/16", "ip=dhcp,ip6=dhcp"},
	"net0":     {"virtio=BC:24:11:00:00:01,bridge=vmbr0", "e1000=BC:24:11:00:00:01,bridge=vmbr0,tag=7", "virtio=BC:24:11:00:00:01"},
	"net3":     {"virtio=BC:24:11:00:00:02,bridge=vmbr1,mtu=1,queues=2", "rtl8139=02:24:11:00:00:02,bridge=vmbr1,rate=0.5", "virtio=BC:24:11:00:00:02,bridge=vmbr1,trunks=3"},
	"net31":    {"vmxnet3=BC:24:11:00:00:03,bridge=vmbr2,firewall=1,link_down=1", "pcnet=BC:24:11:00:00:03,bridge=vnet1"},
	"efidisk0": {"local-lvm:vm-999-disk-9,efitype=4m,size=4M", "local-lvm:vm-999-disk-9,size=128K", "nfs:999/vm-999-disk-9.raw,efitype=4m,pre-enrolled-keys=1,size=528K"}, "tpmstate0": {"local-lvm:vm-999-disk-8,size=4M,version=v2.0", "local-lvm:vm-999-disk-8,size=4M"},
	"ide0": {"none,media=cdrom", "local:iso/x.iso,media=cdrom,size=500M", "cdrom,media=cdrom"}, "ide2": {"local-lvm:vm-999-cloudinit,media=cdrom,size=4M", "none,media=cdrom"}, "sata5": {"local:iso/x.iso,media=cdrom"},
}

// Drives are what drives may hold, without their size.
var Drives = []string{
	"local-lvm:vm-999-disk-0", "nfs:999/vm-999-disk-1.qcow2", "nfs:999/vm-999-disk-2.raw,format=raw", "local-lvm:base-9000-disk-0/vm-999-disk-3", "/dev/sdb", "local-lvm:vm-999-disk-4,cache=unsafe,discard=on,iothread=1",
	"local-lvm:vm-999-disk-5,serial=data,backup=0,replicate=0", "local-lvm:vm-999-disk-6,ro=1,aio=native,iops_rd=100,detect_zeroes=0",
}

// slots are where its disks may be.
var slots = []string{"scsi0", "scsi1", "scsi30", "virtio0", "virtio3", "sata0", "sata4", "ide1", "ide3"}

// Settings draws the config of a guest, as Proxmox may hold it.
func Settings(t *rapid.T) map[string]string {
	conf := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(Options)) {
		values := Options[key]
		if rapid.IntRange(0, 4).Draw(t, key+"?") == 0 {
			conf[key] = rapid.SampledFrom(values).Draw(t, key)
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "disks") {
		slot := rapid.SampledFrom(slots).Draw(t, "slot")
		conf[slot] = rapid.SampledFrom(Drives).Draw(t, slot)
		if strings.HasPrefix(slot, "sata") || strings.HasPrefix(slot, "ide") {
			conf[slot] = strings.Replace(conf[slot], ",iothread=1", "", 1)
		}
		if n := rapid.IntRange(0, 5_000_000).Draw(t, "size"); n > 0 {
			conf[slot] += fmt.Sprintf(",size=%d%s", n, rapid.SampledFrom([]string{"K", "M"}).Draw(t, "unit"))
		}
	}
	return conf
}
