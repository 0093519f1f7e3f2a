package prop_test

import (
	"testing"

	"github.com/proxplane/proxplane/pve/prop"
)

func TestEqualComparesMeaning(t *testing.T) {
	cases := []struct {
		key, a, b string
		want      bool
		reason    string
	}{
		{"net0", "virtio=BC:24:11:00:00:01,bridge=vmbr0", "bridge=vmbr0,model=virtio,macaddr=bc:24:11:00:00:01", true, "order, case and spelling don't matter"},
		{"net0", "virtio,firewall=0,link_down=off,rate=1.50", "virtio,rate=1.5", true, "what is off can be left out"},
		{"net0", "virtio,bridge=vmbr0", "virtio,bridge=vmbr1", false, "other bridge"},
		{"net0", "virtio,tag=2", "virtio", false, "other VLAN"},
		{"net0", "virtio,new-option=1", "virtio", false, "an unknown option may matter"},
		{"net0", "virtio=BC:24:11:00:00:01", "virtio", false, "another address may come out"},
		{"scsi0", "local:100/vm-100-disk-0.raw,size=1G", "volume=local:100/vm-100-disk-0.raw,size=1024M,backup=1,replicate=on,cache=none,media=disk,discard=ignore", true, "defaults written out"},
		{"scsi0", "lvm:vm-1-disk-0,backup=0", "lvm:vm-1-disk-0", false, "backup is on by default"},
		{"scsi0", "lvm:vm-1-disk-0,ssd=1", "lvm:vm-1-disk-1,ssd=1", false, "other volume"},
		{"scsi0", "lvm:vm-1-disk-0,iops=100,mbps=3", "lvm:vm-1-disk-0,mbps=3,iops=100", true, "order of what has no field"},
		{"ide2", "none", "none,media=cdrom", true, "Proxmox adds it"},
		{"efidisk0", "lvm:vm-1-disk-0,efitype=2m,pre-enrolled-keys=0", "lvm:vm-1-disk-0", true, "defaults written out"},
		{"tpmstate0", "lvm:vm-1-disk-0,version=v2.0", "lvm:vm-1-disk-0", false, "v1.2 is the default"},
		{"ipconfig0", "ip=10.0.0.5/24,ip6=FD00::5/64,gw6=fd00:0::1", "ip6=fd00::5/64,gw6=fd00::1,ip=10.0.0.5/24", true, "ways to write an address"},
		{"ipconfig0", "ip=10.0.0.5/24", "ip=10.0.0.5/16", false, "other prefix"},
		{"agent", "1", "enabled=true,type=virtio,freeze-fs=1", true, "defaults written out"},
		{"agent", "0", "enabled=0,type=isa", true, "no agent is no agent"},
		{"agent", "1,freeze-fs-on-backup=0", "1,freeze-fs=0", true, "old name"},
		{"cpu", "host,flags=+aes;-pcid", "flags=-pcid;+aes,cputype=host", true, "order of flags"},
		{"cpu", "host", "max", false, "other type"},
		{"vga", "std", "type=std", true, "with or without key"},
		{"hostpci0", "01:00.0,rombar=1", "0000:01:00.0", true, "domain 0 by default"},
		{"hostpci0", "01:00.0,rombar=0", "01:00.0", false, "it is there by default"},
		{"virtiofs0", "share,cache=auto,expose-acl=1", "dirid=share,expose-acl=1,expose-xattr=1", true, "ACLs include xattr"},
		{"smbios1", "serial=YWI=,base64=1", "serial=ab", true, "stored differently"},
		{"smbios1", "uuid=03AA68F8-faf5-4140-a19b-d81af128ea89", "uuid=03aa68f8-faf5-4140-a19b-d81af128ea89", true, "case of hex digits"},
		{"boot", "order=scsi0;net0", "order=net0;scsi0", false, "the order is what it is about"},
		{"boot", "order=scsi0", "cdn,order=scsi0", true, "order overrides the letters"},
		{"boot", " ", "cdn", false, "from nothing"},
		{"startup", "order=1,up=5", "up=5,1", true, "with or without key"},
		{"startup", "up=5", "order=0,up=5", false, "order 0 is the first"},
		{"rng0", "/dev/urandom,max_bytes=1024,period=1000", "source=/dev/urandom", true, "defaults written out"},
		{"rng0", "/dev/urandom,max_bytes=0", "/dev/urandom", false, "0 is without limit"},
		{"watchdog", "action=reset", "i6300esb,action=reset", true, "default model"},
		{"hotplug", "1", "usb,disk;network", true, "short for the default"},
		{"hotplug", "0", "disk", false, "nothing"},
		{"tags", "B a", "a;b;b", true, "a set"},
		{"memory", "512", "current=512", true, "with or without key"},
		{"machine", "q35", "pc", false, "other board"},
		{"sshkeys", "ssh-ed25519%20AAAA%20a%0A%0A", "ssh-ed25519%20AAAA%20a", true, "empty lines"},
	}
	for _, c := range cases {
		k, ok := kindByKey(c.key)
		if !ok {
			t.Fatal(c.key)
		}
		a, err := k.parse(c.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := k.parse(c.b)
		if err != nil {
			t.Fatal(err)
		}
		if a.equal(b.any) != c.want || b.equal(a.any) != c.want {
			t.Errorf("%s: %q and %q equal: got %v, want %v: %s", c.key, c.a, c.b, a.equal(b.any), c.want, c.reason)
		}
	}
}

func TestANetworkWithoutAddressAcceptsAnyAddress(t *testing.T) {
	have, err := prop.ParseNet("virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=0")
	if err != nil {
		t.Fatal(err)
	}
	want := prop.Net{Model: "virtio", Bridge: "vmbr0"}
	if !want.Accepts(have) {
		t.Error("a generated address isn't accepted")
	}
	if want.MAC = "BC:24:11:00:00:02"; want.Accepts(have) {
		t.Error("another address than the one asked for is accepted")
	}
	if other := (prop.Net{Model: "virtio", Bridge: "vmbr1"}); other.Accepts(have) {
		t.Error("another bridge is accepted")
	}
}

func TestANewDiskHasTheOptionsOfTheOneThatWasMade(t *testing.T) {
	want := prop.Disk{File: prop.NewVolume("local", 32*prop.GiB), Format: "qcow2", Discard: true, SSD: true}
	have, err := prop.ParseDisk("local:100/vm-100-disk-0.qcow2,cache=none,discard=on,size=32G,ssd=1")
	if err != nil {
		t.Fatal(err)
	}
	if !want.SameOptions(have) {
		t.Errorf("%s and %s have other options", want, have)
	}
	if want.Equal(have) {
		t.Errorf("%s and %s are the same", want, have)
	}
	if want.IOThread = true; want.SameOptions(have) {
		t.Errorf("%s and %s have the same options", want, have)
	}
}
