package privileges_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/privileges"
)

// guest is a machine from template 9000, which has nothing in particular.
func guest(change func(*model.VM)) model.Desired {
	v := model.VM{Owner: owner("VirtualMachine", "one"), Name: "one", VMID: 105, Source: model.Source{Image: model.Key{Kind: "VMImage", Name: "base"}}}
	if change != nil {
		change(&v)
	}
	return model.Desired{VMs: []model.VM{v}, Images: []model.Image{{Owner: owner("VMImage", "base"), Template: "base"}}}
}

func owner(kind, name string) model.Owner {
	return model.Owner{Door: "vm", Key: model.Key{Kind: kind, Name: name}}
}

// someFacts has the template on a shared storage.
func someFacts(release int, change func(*model.Config)) privileges.Facts {
	c := &model.Config{Options: map[string]string{}, Disks: []model.Disk{{Slot: "scsi0", Volume: "nfs:base-9000-disk-0", Storage: "nfs"}}}
	if change != nil {
		change(c)
	}
	have := &model.Observed{Guests: map[int]*model.Guest{9000: {VMID: 9000, Name: "base", Template: true, Node: "pve1", Config: c}}}
	return privileges.Facts{Release: release, Have: have}
}

// text is what is granted, a line for each path, without what plain guests need.
func text(t *testing.T, want model.Desired, at privileges.Facts) []string {
	t.Helper()
	needs, err := privileges.For(want, at)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := privileges.For(guest(nil), someFacts(at.Release, nil))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, g := range needs.Grants {
		i := slices.IndexFunc(plain.Grants, func(p privileges.Grant) bool { return p.Path == g.Path })
		var names []string
		for _, n := range g.Names() {
			if i < 0 || !slices.Contains(plain.Grants[i].Names(), n) {
				names = append(names, n)
			}
		}
		if len(names) > 0 {
			lines = append(lines, g.Path+" "+strings.Join(names, " "))
		}
	}
	for _, r := range needs.Root {
		lines = append(lines, "root "+r.Option)
	}
	return lines
}

func TestPlainGuestsNeedLittle(t *testing.T) {
	needs, err := privileges.For(guest(nil), someFacts(9, nil))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range needs.Grants {
		got = append(got, g.Path+" "+strings.Join(g.Names(), " "))
	}
	want := []string{
		"/nodes Sys.Audit",
		"/storage/nfs Datastore.AllocateSpace Datastore.Audit",
		"/vms/105 VM.Allocate VM.Audit VM.Config.Options VM.PowerMgmt",
		"/vms/9000 VM.Audit VM.Clone",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEachFeatureNeedsWhatProxmoxChecks(t *testing.T) {
	option := func(key, value string) func(*model.VM) {
		return func(v *model.VM) { v.Options = map[string]string{key: value} }
	}
	nic := func(n model.NIC) func(*model.VM) {
		return func(v *model.VM) { n.Slot = "net0"; v.NICs = []model.NIC{n} }
	}
	for _, c := range []struct {
		reason  string
		release int
		vm      func(*model.VM)
		image   func(*model.Config)
		shares  []model.Share
		want    []string
	}{
		{reason: "memory", vm: option("memory", "2048"), want: []string{"/vms/105 VM.Config.Memory"}},
		{reason: "an option that is to go", vm: option("cores", ""), want: []string{"/vms/105 VM.Config.CPU"}},
		{reason: "the host's start order", vm: option("startup", "order=1"), want: []string{"/ Sys.Modify"}},
		{reason: "cloud-init's options, and the drive for them", vm: option("ciuser", "ann"), want: []string{"/vms/105 VM.Config.CDROM VM.Config.Cloudinit"}},
		{reason: "the drive is there", vm: option("ciuser", "ann"), image: func(c *model.Config) {
			c.Disks = append(c.Disks, model.Disk{Slot: "ide2", CDROM: true, CloudInit: true})
		}, want: []string{"/vms/105 VM.Config.Cloudinit"}},
		{reason: "a mapped PCI device", vm: option("hostpci0", "mapping=gpu,pcie=1"), want: []string{"/mapping/pci/gpu Mapping.Use", "/vms/105 VM.Config.HWType"}},
		{reason: "a mapped USB device", vm: option("usb0", "mapping=stick"), want: []string{"/mapping/usb/stick Mapping.Use", "/vms/105 VM.Config.HWType"}},
		{reason: "a shared directory", vm: option("virtiofs0", "dirid=data"), want: []string{"/mapping/dir/data Mapping.Use", "/vms/105 VM.Config.Disk"}},
		{reason: "a directory that has to be mapped first", vm: option("virtiofs0", "dirid=data"), shares: []model.Share{{Owner: model.Owner{Set: "web", Key: model.ShareKey("data")}}}, want: []string{
			"/mapping/dir Mapping.Modify", "/mapping/dir/data Mapping.Modify Mapping.Use", "/vms/105 VM.Config.Disk"}},
		{reason: "a device that the image has", image: func(c *model.Config) { c.Options["hostpci0"] = "mapping=gpu" }, want: []string{"/mapping/pci/gpu Mapping.Use"}},
		{reason: "a CPU model of one's own", vm: option("cpu", "custom-mine"), want: []string{"/mapping/cpu/mine Mapping.Use", "/vms/105 VM.Config.CPU"}},
		{reason: "the same on 8", release: 8, vm: option("cpu", "custom-mine"), want: []string{"/vms/105 VM.Config.CPU"}},
		{reason: "a socket for a serial port", vm: option("serial0", "socket"), want: []string{"/vms/105 VM.Config.HWType"}},
		{reason: "the host's serial port", vm: option("serial0", "/dev/ttyS0"), want: []string{"/vms/105 VM.Config.HWType", "root serial0"}},
		{reason: "the host's PCI device", vm: option("hostpci0", "host=0000:01:00.0"), want: []string{"/vms/105 VM.Config.HWType", "root hostpci0"}},
		{reason: "QEMU's arguments", vm: option("args", "-s"), want: []string{"root args"}},
		{reason: "pinning to CPUs", vm: option("affinity", "0-3"), want: []string{"root affinity"}},
		{reason: "a hook script", vm: option("hookscript", "local:snippets/x.sh"), want: []string{"root hookscript"}},
		{reason: "an agent", vm: func(v *model.VM) { v.WaitAddress, v.Options = true, map[string]string{"agent": "1"} }, want: []string{"/vms/105 VM.GuestAgent.Audit"}},
		{reason: "an agent on 8", release: 8, vm: func(v *model.VM) { v.WaitAddress, v.Options = true, map[string]string{"agent": "1"} }, want: []string{"/vms/105 VM.Monitor"}},
		{reason: "a bridge", vm: nic(model.NIC{Bridge: "vmbr0"}), want: []string{"/sdn/zones/localnetwork/vmbr0 SDN.Use", "/vms/105 VM.Config.Network"}},
		{reason: "a VLAN", vm: nic(model.NIC{Bridge: "vmbr0", VLAN: 7}), want: []string{"/sdn/zones/localnetwork/vmbr0/7 SDN.Use", "/vms/105 VM.Config.Network"}},
		{reason: "a trunk", vm: nic(model.NIC{Bridge: "vmbr0", Options: map[string]string{"trunks": "2;5-6"}}), want: []string{
			"/sdn/zones/localnetwork/vmbr0/2 SDN.Use", "/sdn/zones/localnetwork/vmbr0/5 SDN.Use", "/sdn/zones/localnetwork/vmbr0/6 SDN.Use", "/vms/105 VM.Config.Network"}},
		{reason: "the bridge of the image, which is left", vm: nic(model.NIC{Bridge: "vmbr0"}), image: func(c *model.Config) {
			c.NICs = []model.NIC{{Slot: "net0", Bridge: "vmbr1"}}
		}, want: []string{"/sdn/zones/localnetwork/vmbr0 SDN.Use", "/sdn/zones/localnetwork/vmbr1 SDN.Use", "/vms/105 VM.Config.Network"}},
		{reason: "a copy on another storage", vm: func(v *model.VM) { v.Source.Full, v.Source.Storage = true, "ceph" }, want: []string{"/storage/ceph Datastore.AllocateSpace"}},
		{reason: "a firewall", vm: func(v *model.VM) { v.Firewall = &model.Firewall{} }, want: []string{"/vms/105 VM.Config.Network"}},
		{reason: "a firewall on 8", release: 8, vm: func(v *model.VM) { v.Firewall = &model.Firewall{} }, want: []string{"/vms/105 VM.Config.Network"}},
		{reason: "HA", vm: func(v *model.VM) { v.HA = &model.HA{} }, want: []string{"/ Sys.Console"}},
		{reason: "HA by a rule", vm: func(v *model.VM) { v.HA = &model.HA{Group: "fast"} }, want: []string{"/ Sys.Audit Sys.Console"}},
		{reason: "HA by a group", release: 8, vm: func(v *model.VM) { v.HA = &model.HA{Group: "fast"} }, want: []string{"/ Sys.Audit Sys.Console"}},
		{reason: "first-boot data", vm: func(v *model.VM) { v.Seed = &model.Seed{Storage: "iso"} }, want: []string{
			"/storage/iso Datastore.Allocate Datastore.AllocateTemplate Datastore.Audit", "/vms/105 VM.Config.CDROM"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if c.release == 0 {
				c.release = 9
			}
			if diff := cmp.Diff(c.want, text(t, with(guest(c.vm), c.shares), someFacts(c.release, c.image))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func with(want model.Desired, shares []model.Share) model.Desired {
	want.Shares = shares
	return want
}

func TestVNetsAreInTheirZone(t *testing.T) {
	at := someFacts(9, nil)
	at.Zones = map[string]string{"blue": "overlay"}
	got := text(t, guest(func(v *model.VM) { v.NICs = []model.NIC{{Slot: "net0", Bridge: "blue"}} }), at)
	if want := "/sdn/zones/overlay/blue SDN.Use"; !slices.Contains(got, want) {
		t.Errorf("%q isn't among %q", want, got)
	}
}

func TestWhatIsNotSeenIsToldAndAskedForWidely(t *testing.T) {
	needs, err := privileges.For(guest(nil), privileges.Facts{Release: 9})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(needs.Unknown) != "[template base isn't seen: it isn't there, or VM.Audit on it is missing]" {
		t.Errorf("unknown: %q", needs.Unknown)
	}
	if !slices.Contains(needs.Paths(), "/vms") || !slices.Contains(needs.Paths(), "/storage") {
		t.Errorf("paths: %q", needs.Paths())
	}
}

func TestEntriesOfOneNodeRepeatWhatAllNodesNeed(t *testing.T) {
	want := guest(func(v *model.VM) { v.Place.Nodes = []string{"pve2"} })
	want.VMs = append(want.VMs, guest(func(v *model.VM) { v.VMID, v.Owner.Name = 106, "two" }).VMs...)
	needs, err := privileges.For(want, someFacts(9, nil))
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(needs.Paths(), "/nodes/pve2") {
		t.Errorf("pve2 has an entry of its own that says no more than that of all nodes: %q", needs.Paths())
	}
}

func TestRightsBelowAPathCountOnlyIfTheyReachThere(t *testing.T) {
	needs := privileges.Needs{Grants: []privileges.Grant{
		{Path: "/vms", Below: true, Privs: []privileges.Priv{{Name: "VM.Audit"}}},
		{Path: "/storage/nfs", Privs: []privileges.Priv{{Name: "Datastore.Audit"}}},
	}}
	have := map[string]map[string]bool{"/vms": {"VM.Audit": false}, "/storage/nfs": {"Datastore.Audit": false}}
	if missing := needs.Missing(have); len(missing) != 1 || missing[0].Path != "/vms" {
		t.Errorf("missing: %+v", missing)
	}
}
