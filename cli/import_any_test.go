package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/chance"
)

// anyOption has values that Proxmox takes for options.
var anyOption = map[string][]string{
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

// anyDrive are what drives may hold, without their size.
var anyDrive = []string{
	"local-lvm:vm-999-disk-0", "nfs:999/vm-999-disk-1.qcow2", "nfs:999/vm-999-disk-2.raw,format=raw", "local-lvm:base-9000-disk-0/vm-999-disk-3", "/dev/sdb", "local-lvm:vm-999-disk-4,cache=unsafe,discard=on,iothread=1",
	"local-lvm:vm-999-disk-5,serial=data,backup=0,replicate=0", "local-lvm:vm-999-disk-6,ro=1,aio=native,iops_rd=100,detect_zeroes=0",
}

var anySlot = []string{"scsi0", "scsi1", "scsi30", "virtio0", "virtio3", "sata0", "sata4", "ide1", "ide3"}

func anySettings(t *rapid.T) map[string]string {
	conf := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(anyOption)) {
		values := anyOption[key]
		if rapid.IntRange(0, 4).Draw(t, key+"?") == 0 {
			conf[key] = rapid.SampledFrom(values).Draw(t, key)
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "disks") {
		slot := rapid.SampledFrom(anySlot).Draw(t, "slot")
		conf[slot] = rapid.SampledFrom(anyDrive).Draw(t, slot)
		if strings.HasPrefix(slot, "sata") || strings.HasPrefix(slot, "ide") {
			conf[slot] = strings.Replace(conf[slot], ",iothread=1", "", 1)
		}
		if n := rapid.IntRange(0, 5_000_000).Draw(t, "size"); n > 0 {
			conf[slot] += fmt.Sprintf(",size=%d%s", n, rapid.SampledFrom([]string{"K", "M"}).Draw(t, "unit"))
		}
	}
	return conf
}

// TestAnyMachineCanBeImported: whatever Proxmox holds, its manifest changes nothing,
// neither before nor after it was adopted.
func TestAnyMachineCanBeImported(t *testing.T) {
	l := ownLab(t)
	client := l.client()
	l.allocate(client, slices.Concat(anyDrive, slices.Concat(slices.Collect(maps.Values(anyOption))...)))
	id := 1000
	chance.CheckFew(t, 30, func(t *rapid.T) {
		id++
		name := fmt.Sprintf("any-%d", id)
		conf := anySettings(t)
		upid, err := client.Node("pve2").Create(l.Context(), pve.CreateOptions{ID: id, Settings: pve.Settings{"name": name}})
		if err == nil {
			_, err = client.Task(upid).Wait(l.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		l.sim.Do(func(st *pvesim.State) {
			for k, v := range conf {
				st.VMs[id].Conf[k] = v
			}
		})
		code, manifest, stderr := l.run("import", name, "--adopt", "--yes")
		if code != exitOK {
			t.Fatalf("import: exit %d\n%s\n%s", code, stderr, manifest)
		}
		file := l.write(name+".yaml", manifest)
		code, out, stderr := l.run("plan", "-f", file, "--deep")
		if code != exitOK || !strings.HasPrefix(out, "Nothing to do") {
			t.Fatalf("plan: exit %d\n%s%s\n%s", code, out, stderr, manifest)
		}
		l.sim.Do(func(st *pvesim.State) {
			for k, v := range conf {
				switch now := st.VMs[id].Conf[k]; {
				case k == "tags" || k == "description":
				case now != v:
					t.Errorf("%s was %q, and is %q", k, v, now)
				}
			}
			delete(st.VMs, id) // two with the same addresses can't be in a manifest
		})
	})
}
