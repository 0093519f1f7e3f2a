package plan

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

func TestFirstBootDataGoWhereTheGuestCanSeeThem(t *testing.T) {
	drive := func(slot, volume string) model.Disk {
		return model.Disk{Slot: slot, Volume: volume, CDROM: true, CloudInit: strings.Contains(volume, "cloudinit")}
	}
	for _, c := range []struct {
		reason        string
		machine, scsi string
		want          map[string]string // options that the manifest sets
		disks         []model.Disk
		slot          string
	}{
		{reason: "a PC has IDE", scsi: "virtio-scsi-pci", slot: "ide2"},
		{reason: "q35 has no IDE that cloud kernels see", machine: "q35", scsi: "virtio-scsi-single", slot: "scsi30"},
		{reason: "a version of it neither", machine: "pc-q35-9.0", scsi: "virtio-scsi-single", slot: "scsi30"},
		{reason: "without virtio, IDE is the better guess", machine: "q35", slot: "ide2"},
		{reason: "what the manifest makes of it counts", want: map[string]string{"machine": "q35", "scsihw": "virtio-scsi-pci"}, slot: "scsi30"},
		{reason: "an empty drive is used", disks: []model.Disk{drive("ide2", "none")}, slot: "ide2"},
		{reason: "a medium of somebody else stays", disks: []model.Disk{drive("ide2", "local:iso/other.iso")}, slot: "ide0"},
		{reason: "the template's author knows where it is seen", disks: []model.Disk{drive("sata1", "nfs:9000/vm-9000-cloudinit.qcow2")}, slot: "sata5"},
		{reason: "and Proxmox' own goes, without being given another medium", disks: []model.Disk{drive("ide2", "nfs:9000/vm-9000-cloudinit.qcow2")}, slot: "ide0"},
		{reason: "where there is no other slot, it is given one", disks: []model.Disk{
			drive("ide2", "nfs:9000/vm-9000-cloudinit.qcow2"), drive("ide0", "local:iso/a.iso"), drive("ide1", "local:iso/b.iso"), drive("ide3", "local:iso/c.iso"),
		}, slot: "ide2"},
		{reason: "a copy of one of ours has its own data only", disks: []model.Disk{drive("ide0", "nfs:iso/proxplane-100-0123456789ab.iso")}, slot: "ide0"},
		{reason: "a board without any IDE", machine: "virt", slot: "scsi30"},
	} {
		w := newWorld()
		template := w.Guests[9000].Config
		template.Options["machine"], template.Options["scsihw"] = c.machine, c.scsi
		template.Disks = append(template.Disks, c.disks...)
		v := testVM("web")
		v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"}
		for k, value := range c.want {
			v.Options[k] = value
		}
		id := converge(t, w, desired(v)).Objects[2].VMID
		if d, ok := w.Guests[id].Config.DiskAt(c.slot); !ok || !strings.Contains(d.Volume, "proxplane-") {
			t.Errorf("%s: %s is %+v, disks %+v", c.reason, c.slot, d, w.Guests[id].Config.Disks)
		}
		if hasCloudInit(w.Guests[id].Config) {
			t.Errorf("%s: there are two drives that the guest may read: %+v", c.reason, w.Guests[id].Config.Disks)
		}
	}
}

func TestAnotherIgnitionConfigMeansAnotherGuest(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa", Once: true}
	id := converge(t, w, desired(v)).Objects[2].VMID
	old := w.Guests[id].Config

	v.Seed = &model.Seed{Storage: "nfs", Digest: "bbbbbbbbbbbbbbbb", Once: true}
	v.Tags = []string{"blue"}
	p := converge(t, w, desired(v))
	o := p.Objects[2]
	if len(o.Refused) != 1 || o.Refused[0].Effect != Replace || !strings.Contains(o.Refused[0].Why, "Ignition") || o.Refused[0].Allow != model.AllowReplace {
		t.Fatalf("plan:\n%s", p)
	}
	if g := w.Guests[id]; !slices.Contains(g.Tags, "blue") || g.Config.Marker.Seed != old.Marker.Seed || len(w.Files) != 1 {
		t.Errorf("what can be done is done, and its data stay: %+v, files %v", g.Config, w.Files)
	}

	// Stopped and with its data gone, it can start all the same: it has read them.
	w.Guests[id].Status = model.StatusStopped
	clear(w.Files)
	for slot, d := range w.Guests[id].Config.Disks {
		if d.CDROM {
			w.Guests[id].Config.Disks[slot].Volume = "none"
		}
	}
	converge(t, w, desired(v))
	if w.Guests[id].Status != model.StatusRunning {
		t.Error("it isn't started")
	}

	want := desired(v)
	want.Allow.Replace = true
	if p := converge(t, w, want); !p.Ready() {
		t.Fatalf("plan:\n%s", p)
	}
	g := w.Guests[id]
	if g == nil || !strings.Contains(g.Config.Marker.Seed, "bbbbbbbbbbbb") || len(w.Files) != 1 {
		t.Errorf("it isn't another guest: %+v, files %v", g, w.Files)
	}
}

func TestGuestsFromNothingHaveTheirDataEvenIfTheyDontStart(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.Source, v.Disks = model.Source{Blank: true}, []model.Disk{{Slot: model.RootSlot, Storage: "nfs", Size: 1 << 30}}
	v.Power = model.PowerOff
	v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"}
	p := converge(t, w, desired(v))
	id := p.object(t, "web").VMID
	if d, ok := w.Guests[id].Config.DiskAt("ide2"); !p.Ready() || !ok || d.Volume != v.Seed.Volume(id) {
		t.Errorf("ide2 is %+v, plan:\n%s", d, p)
	}
}

// A backup from before there was a cloud-init drive leaves its volume unused, and
// Proxmox can't make another of that name.
func TestAnUnusedCloudInitVolumeIsTakenAgain(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	want.VMs[0].Power, want.VMs[0].WaitAddress = model.PowerOff, false
	id := converge(t, w, want).Objects[2].VMID
	const volume = "nfs:5/vm-5-cloudinit.qcow2"
	w.Guests[id].Config.Unused = []model.Disk{{Slot: "unused0", Volume: volume, CloudInit: true}}
	want.VMs[0].Options["ciuser"] = "ann"
	for _, s := range w.plan(want).Objects[2].Steps {
		if c, ok := s.Action.(model.Configure); ok && len(c.Disks) == 1 && c.Disks[0].Volume == volume {
			return
		}
	}
	t.Errorf("the volume isn't used:\n%s", w.plan(want))
}

func TestFirstBootDataIsRememberedWhileItsUploadRuns(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	want.VMs[0].Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"}
	id := converge(t, w, want).Objects[2].VMID
	uploaded := maps.Clone(w.Files)

	clear(w.Files)
	w.tasks = []model.Task{{UPID: "UPID:pve1:1:1:1:imgcopy::root@pam:", Type: "imgcopy"}}
	want.VMs[0].Seed = nil
	o := converge(t, w, want).Objects[2]
	if old := w.Guests[id].Config.Marker.Old; len(old) != 1 || o.Wait == nil || o.Wait.Task != w.tasks[0].UPID {
		t.Fatalf("while it runs: %v, %+v", old, o.Wait)
	}
	w.Files, w.tasks = uploaded, nil
	if o = converge(t, w, want).Objects[2]; len(w.Files) > 0 || len(w.Guests[id].Config.Marker.Old) > 0 || !o.Ready() {
		t.Errorf("when it has ended: files %v, %+v", w.Files, o)
	}
}

// First-boot data that a guest has in its drive and that can't be made again, since the manifest has others by now, are
// named when their storage doesn't have them any more; else they are uploaded while it runs.
func TestLostFirstBootDataAreNamed(t *testing.T) {
	w, v := newWorld(), testVM("web")
	v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa", Once: true}
	g := w.Guests[converge(t, w, desired(v)).Objects[2].VMID]
	clear(w.Files)
	for _, d := range g.Config.Disks {
		if d.CDROM {
			g.Missing = []string{d.Slot}
		}
	}
	if o := w.plan(desired(v)).Objects[2]; o.Wait != nil || len(o.Steps) != 1 || o.Steps[0].What != "upload its first-boot data" || o.Steps[0].Effect != Live {
		t.Errorf("what can be made again: %v", o)
	}
	v.Seed = &model.Seed{Storage: "nfs", Digest: "bbbbbbbbbbbbbbbb", Once: true}
	if o := w.plan(desired(v)).Objects[2]; o.Wait == nil || o.Wait.Reason != model.WaitDisk || len(o.Steps) > 0 {
		t.Errorf("what can't: %v", o)
	}
}
