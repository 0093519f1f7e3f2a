package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

func is(key, value string) pve.PendingSetting { return pve.PendingSetting{Key: key, Value: &value} }

func waits(key, value, pending string) pve.PendingSetting {
	s := pve.PendingSetting{Key: key, Pending: &pending}
	if value != "" {
		s.Value = &value
	}
	return s
}

func goes(key, value string) pve.PendingSetting {
	return pve.PendingSetting{Key: key, Value: &value, Delete: true}
}

func TestConfigsAreSortedAndMadeCanonical(t *testing.T) {
	marker := model.Marker{Owner: model.Owner{Door: "vm", Set: "s", Key: model.Key{Kind: "VirtualMachine", Name: "web"}}, Managed: []string{"cores"}}
	got := readingOf([]pve.PendingSetting{
		is("digest", "abc"), is("name", "web"), is("cores", "4"), is("memory", "2048"), is("onboot", "0"), is("bios", "seabios"),
		is("description", model.Describe("hello", marker)), is("tags", "web;proxplane"), is("lock", "backup"), is("template", "1"),
		is("scsi10", "local-lvm:vm-1-disk-2,size=1G"), is("scsi2", "nfs:1/vm-1-disk-1.qcow2,iothread=1,backup=1,size=8G,ssd=1"),
		is("ide2", "nfs:1/vm-1-cloudinit.qcow2,media=cdrom"), is("ide0", "none,media=cdrom"), is("unused0", "nfs:1/vm-1-disk-7.raw"),
		is("efidisk0", "local-lvm:vm-1-disk-0,efitype=4m,size=4M"),
		is("net1", "e1000=bc:24:11:00:00:02,bridge=vmbr1,firewall=1,mtu=1400,tag=7,queues=4"), is("net0", "virtio=BC:24:11:00:00:01,bridge=vmbr0"),
	})
	want := &model.Config{
		Digest: "abc", Options: map[string]string{"name": "web", "cores": "4", "memory": "2048"},
		Text: "hello", Marker: &marker, Tags: []string{"proxplane", "web"},
		Disks: []model.Disk{
			{Slot: "efidisk0", Volume: "local-lvm:vm-1-disk-0", Storage: "local-lvm", Format: "raw", Size: 4 << 20, Options: map[string]string{"efitype": "4m"}},
			{Slot: "ide0", Volume: "none", CDROM: true, Options: map[string]string{}},
			{Slot: "ide2", Volume: "nfs:1/vm-1-cloudinit.qcow2", Storage: "nfs", Format: "qcow2", CDROM: true, CloudInit: true, Options: map[string]string{}},
			{Slot: "scsi2", Volume: "nfs:1/vm-1-disk-1.qcow2", Storage: "nfs", Format: "qcow2", Size: 8 << 30, Options: map[string]string{"iothread": "1", "ssd": "1"}},
			{Slot: "scsi10", Volume: "local-lvm:vm-1-disk-2", Storage: "local-lvm", Format: "raw", Size: 1 << 30, Options: map[string]string{}},
		},
		Unused: []model.Disk{{Slot: "unused0", Volume: "nfs:1/vm-1-disk-7.raw", Storage: "nfs", Format: "raw", Options: map[string]string{}}},
		NICs: []model.NIC{
			{Slot: "net0", Model: "virtio", MAC: "BC:24:11:00:00:01", Bridge: "vmbr0"},
			{Slot: "net1", Model: "e1000", MAC: "BC:24:11:00:00:02", Bridge: "vmbr1", VLAN: 7, MTU: 1400, Firewall: true, Options: map[string]string{"queues": "4"}},
		},
	}
	if diff := cmp.Diff(want, got.config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	if got.name != "web" || got.lock != "backup" || !got.template {
		t.Errorf("%+v", got)
	}
}

func TestPendingChangesCountAsMadeAndAreNamed(t *testing.T) {
	c := readingOf([]pve.PendingSetting{
		waits("cores", "2", "4"), waits("memory", "2048", "current=2048"), waits("net1", "", "virtio=BC:24:11:00:00:02,bridge=vmbr0"),
		goes("scsi1", "nfs:1/vm-1-disk-1.qcow2,size=8G"), is("scsi0", "nfs:1/vm-1-disk-0.qcow2,size=8G"),
	}).config
	if c.Options["cores"] != "4" || len(c.NICs) != 1 || len(c.Disks) != 1 {
		t.Errorf("%+v", c)
	}
	if p, ok := c.Pending["scsi1"]; !ok || p != nil {
		t.Errorf("scsi1 is to go: %v", c.Pending)
	}
	if _, ok := c.Pending["memory"]; ok {
		t.Error("another spelling of the same memory counts as a change")
	}
	if len(c.Pending) != 3 {
		t.Errorf("pending: %v", c.Pending)
	}
}

func TestConfigsOfGuestsBeingMadeDoNotSayWhoseTheyAre(t *testing.T) {
	for _, c := range []struct {
		settings []pve.PendingSetting
		half     bool
		reason   string
	}{
		{[]pve.PendingSetting{is("lock", "clone"), is("description", " qmclone temporary file")}, true, "what a clone writes first"},
		{[]pve.PendingSetting{is("lock", "create")}, true, "what a creation writes first"},
		{[]pve.PendingSetting{is("lock", "destroyed")}, true, "what is left of a guest while it is destroyed"},
		{[]pve.PendingSetting{is("lock", "clone"), is("name", "x"), is("scsi0", "nfs:1/vm-1-disk-0.qcow2,size=8G")}, false, "somebody else's clone, which has its name by now"},
		{[]pve.PendingSetting{is("lock", "backup")}, false, "a guest without disks that is saved"},
		{[]pve.PendingSetting{is("name", "x")}, false, "a guest without disks"},
	} {
		if got := readingOf(c.settings).config.Half; got != c.half {
			t.Errorf("%s: half is %v", c.reason, got)
		}
	}
}

func TestWhatIsNotUnderstoodIsSeenToBeThere(t *testing.T) {
	c := readingOf([]pve.PendingSetting{is("scsi0", "nfs:1/x,size=nonsense"), is("net0", "virtio,tag=nonsense")}).config
	if len(c.Disks) != 1 || c.Disks[0].Volume == "" || len(c.NICs) != 1 {
		t.Errorf("%+v", c)
	}
}

func TestWhatARunningGuestHasIsKnownBesideWhatIsPending(t *testing.T) {
	c := readingOf([]pve.PendingSetting{
		waits("memory", "4096", "8192"), waits("sockets", "", "2"), goes("cores", "4"), is("cpu", "host"),
		waits("net0", "virtio=02:00:00:AA:BB:CC,bridge=vmbr0", "e1000=02:00:00:AA:BB:CC,bridge=vmbr0"),
	}).config
	if r := c.Running; r == nil || len(r.Options) != 2 || r.Options["memory"] != "4096" || r.Options["cores"] != "4" || len(r.NICs) != 1 || r.NICs[0].Model != "virtio" {
		t.Errorf("the running guest has %+v", r)
	}
	if r := readingOf([]pve.PendingSetting{is("memory", "4096")}).config.Running; r != nil {
		t.Errorf("nothing is pending, but Running is %+v", r)
	}
}
