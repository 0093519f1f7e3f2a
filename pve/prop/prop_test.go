package prop_test

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pve/prop"
)

func TestErrorsNameKeyAndValue(t *testing.T) {
	cases := []struct{ key, value, want string }{
		{"net0", "virtio,tag=5000", `tag: "5000": not from 1 to 4094`},
		{"net0", "virtio,tag=x", `tag: "x": not an integer`},
		{"net0", "virtio,rate=1,rate=2", `second value for rate: "2"`},
		{"net0", "virtio=BC:24:11:00:00:01,model=e1000", `second value for model: "e1000"`},
		{"net0", "virtio=BD:24:11:00:00:01", `macaddr: "BD:24:11:00:00:01": not a unicast MAC address`},
		{"net0", "bridge=vmbr0", `no value for model`},
		{"net0", "virtio,firewall=maybe", `firewall: "maybe": not a boolean`},
		{"net0", "virtio,bridge=", `"bridge=" has no value`},
		{"net0", "virtio,=vmbr0", `"=vmbr0" has no key`},
		{"net0", "virtio,e1000", `second value without key: "e1000"`},
		{"net0", "virtio\nargs: -foo", `control character`},
		{"scsi0", "size=1G", `no value for file`},
		{"scsi0", "lvm:vm-1-disk-0,size=1X", `size: "1X": not a size`},
		{"scsi0", "lvm:vm-1-disk-0,discard=1", `discard: "1": neither on nor ignore`},
		{"scsi0", "x", `volume id "x"`},
		{"ipconfig0", "ip=10.0.0.1", `ip: "10.0.0.1": neither`},
		{"ipconfig0", "ip=dhcp,gw6=fd00::1", `gw6=fd00::1 without ip6`},
		{"ipconfig0", "dhcp", `value without key: "dhcp"`},
		{"agent", "type=isa", `no value for enabled`},
		{"smbios1", "serial=a*b,base64=1", `serial: "a*b": not base64`},
		{"startup", "order=-1", `order: "-1"`},
		{"tags", "a;-b", `invalid tag "-b"`},
		{"memory", "1024M", `current: "1024M": not an integer`},
		{"cicustom", "user=foo", `user: "foo"`},
		{"serial0", "tty", `"tty"`},
	}
	for _, c := range cases {
		k, ok := kindByKey(c.key)
		if !ok {
			t.Fatal(c.key)
		}
		if _, err := k.parse(c.value); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: got error %v, want one with %s", c.key, c.value, err, c.want)
		}
	}
}

func TestWhatProxmoxPrintsItselfIsPrintedInItsOrder(t *testing.T) {
	cases := []struct{ key, given, want, reason string }{
		{"net0", "tag=20,e1000=bc:24:11:00:00:01,firewall=on,bridge=vmbr0", "e1000=bc:24:11:00:00:01,bridge=vmbr0,firewall=1,tag=20", "sorted, booleans as digits, case of the address kept"},
		{"net0", "virtio,zz=on,rate=1.50", "virtio,rate=1.50,zz=on", "numbers and unknown values as given"},
		{"scsi0", "ssd=yes,size=2048M,file=lvm:vm-1-disk-0,backup=no", "lvm:vm-1-disk-0,backup=0,size=2G,ssd=1", "sizes in the largest unit"},
		{"scsi0", "lvm:vm-1-disk-0,cyls=3,heads=4,secs=1,trans=none", "lvm:vm-1-disk-0", "what QEMU no longer knows is dropped"},
		{"scsi0", "lvm:vm-1-disk-0,iops_rd=5,iops_rd_max=7,iops_rd_length=3", "lvm:vm-1-disk-0,iops_rd=5,iops_rd_max=7,iops_rd_max_length=3", "old names"},
		{"ide2", "none,size=5G", "none,media=cdrom", "nothing has no size"},
		{"efidisk0", "size=4M,volume=lvm:vm-1-disk-0,pre-enrolled-keys=on,efitype=4m", "lvm:vm-1-disk-0,efitype=4m,pre-enrolled-keys=1,size=4M", ""},
	}
	for _, c := range cases {
		k, ok := kindByKey(c.key)
		if !ok {
			t.Fatal(c.key)
		}
		v, err := k.parse(c.given)
		if err != nil {
			t.Errorf("%s=%s: %v", c.key, c.given, err)
		} else if v.text != c.want {
			t.Errorf("%s=%s: got %s, want %s: %s", c.key, c.given, v.text, c.want, c.reason)
		}
	}
}

func TestWhatProxmoxStoresAsGivenKeepsItsShapeWhenChanged(t *testing.T) {
	a, err := prop.ParseAgent("type=virtio, ,enabled=on,new=x")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := a.String(), "type=virtio, ,enabled=on,new=x"; got != want {
		t.Errorf("unchanged: got %s, want %s", got, want)
	}
	a.Type, a.FstrimClonedDisks = "isa", true
	if got, want := a.String(), "type=isa,enabled=on,new=x,fstrim_cloned_disks=1"; got != want {
		t.Errorf("changed: got %s, want %s", got, want)
	}
	b := a
	b.Extra.Set("new", "y")
	b.Type = ""
	if got, want := b.String(), "enabled=on,new=y,fstrim_cloned_disks=1"; got != want {
		t.Errorf("copy changed: got %s, want %s", got, want)
	}
	if got, want := a.String(), "type=isa,enabled=on,new=x,fstrim_cloned_disks=1"; got != want {
		t.Errorf("after its copy was changed: got %s, want %s", got, want)
	}
}

func TestValuesMadeByHandArePrintedAsProxmoxWould(t *testing.T) {
	tags, err := prop.NewTags("Web", "b", "web")
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		v    interface{ String() string }
		want string
	}{
		{prop.Net{Model: "virtio", MAC: "BC:24:11:00:00:01", Bridge: "vmbr0", Tag: 20, Trunks: []string{"2", "5-7"}}, "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20,trunks=2;5-7"},
		{prop.Net{Model: "virtio", Bridge: "vmbr0,firewall=0"}, "virtio,bridge=vmbr0%2Cfirewall=0"},
		{prop.Disk{File: prop.NewVolume("nfs", 32*prop.GiB), Discard: true, Backup: prop.Some(false)}, "nfs:32,backup=0,discard=on"},
		{prop.Disk{File: prop.NewVolume("nfs", 0), ImportFrom: "local:import/a.qcow2"}, "nfs:0,import-from=local:import/a.qcow2"},
		{prop.Disk{File: prop.CloudInitVolume("nfs")}, "nfs:cloudinit"},
		{prop.Disk{File: "local:iso/a=b.iso", Media: "cdrom"}, "file=local:iso/a=b.iso,media=cdrom"},
		{prop.EFIDisk{File: prop.NewVolume("nfs", prop.GiB), Type: "4m", PreEnrolledKeys: true}, "nfs:1,efitype=4m,pre-enrolled-keys=1"},
		{prop.TPMState{File: prop.NewVolume("nfs", prop.GiB), Version: "v2.0"}, "nfs:1,version=v2.0"},
		{prop.IPConfig{IP: "10.0.0.5/24", GW: "10.0.0.1", IP6: "auto"}, "ip=10.0.0.5/24,gw=10.0.0.1,ip6=auto"},
		{prop.Agent{}, "0"},
		{prop.Agent{Enabled: true, FreezeFS: prop.Some(false)}, "1,freeze-fs-on-backup=0"},
		{prop.CPU{Type: "host", Flags: []string{"+aes", "-pcid"}}, "host,flags=+aes;-pcid"},
		{prop.HostPCI{Mapping: "gpu", PCIe: true}, "mapping=gpu,pcie=1"},
		{prop.HostPCI{Host: []string{"0000:01:00.0", "0000:01:00.1"}, ROMBar: prop.Some(false)}, "0000:01:00.0;0000:01:00.1,rombar=0"},
		{prop.VirtioFS{DirID: "share", ExposeACL: true}, "share,expose-acl=1"},
		{prop.SMBIOS1{Serial: "abc"}, "serial=abc"},
		{prop.SMBIOS1{Serial: "ds=nocloud;h=web-1"}, "serial=ZHM9bm9jbG91ZDtoPXdlYi0x,base64=1"},
		{prop.Boot{Order: []string{"scsi0", "net0"}}, "order=scsi0;net0"},
		{prop.Startup{Order: prop.Some(0), Down: prop.Some(30)}, "order=0,down=30"},
		{prop.Hotplug{Disk: true, CPU: true}, "disk,cpu"},
		{prop.Hotplug{}, "0"},
		{prop.RNG{Source: "/dev/urandom", MaxBytes: prop.Some(0)}, "/dev/urandom,max_bytes=0"},
		{tags, "b;web"},
		{prop.NewSSHKeys("ssh-ed25519 AA+/= me@here", "", "ssh-rsa BB"), "ssh-ed25519%20AA%2B%2F%3D%20me%40here%0Assh-rsa%20BB"},
	}
	for _, c := range cases {
		if got := c.v.String(); got != c.want {
			t.Errorf("%T: got %s, want %s", c.v, got, c.want)
		}
	}
}

func TestDrivesTellWhatTheyAre(t *testing.T) {
	cases := []struct {
		value             string
		cdrom, ci, exists bool
	}{
		{"none,media=cdrom", true, false, false},
		{"none", true, false, false},
		{"local:cloudinit", true, true, false},
		{"local:400/vm-400-cloudinit.qcow2,media=cdrom", true, true, true},
		{"local-lvm:vm-400-cloudinit,media=cdrom", true, true, true},
		{"local:iso/tiny.iso,media=cdrom", true, false, true},
		{"local:32", false, false, false},
		{"local-lvm:vm-400-disk-0", false, false, true},
		{"/dev/sdb", false, false, false},
	}
	for _, c := range cases {
		d, err := prop.ParseDisk(c.value)
		if err != nil {
			t.Fatal(err)
		}
		_, exists := d.Volume()
		if d.IsCDROM() != c.cdrom || d.IsCloudInit() != c.ci || exists != c.exists {
			t.Errorf("%s: got cdrom %v, cloud-init %v, exists %v", c.value, d.IsCDROM(), d.IsCloudInit(), exists)
		}
	}
}
