package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

func TestWhatIsInTheSlotOfAnotherKindOfDriveIsNotUpToDate(t *testing.T) {
	iso := model.Disk{Slot: "ide2", Name: "iso", Volume: "nfs:iso/debian.iso", CDROM: true}
	data := model.Disk{Slot: "scsi3", Name: "data", Size: 8 << 30, Storage: "nfs"}
	for reason, c := range map[string]struct{ want, there model.Disk }{
		"a disk where a CD-ROM drive is wanted": {iso, model.Disk{Slot: "ide2", Volume: "nfs:5000/vm-5000-disk-7.raw", Size: 8 << 30}},
		"a CD-ROM drive where a disk is wanted": {data, model.Disk{Slot: "scsi3", Volume: "nfs:iso/other.iso", CDROM: true}},
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld()
			w.Files["nfs:iso/debian.iso"] = model.File{Volume: "nfs:iso/debian.iso", Node: "pve1", Content: "iso"}
			v := testVM("web")
			v.Disks = append(v.Disks, c.want)
			id := converge(t, w, desired(v)).object(t, "web").VMID
			conf := w.Guests[id].Config
			for i, d := range conf.Disks {
				if d.Slot == c.there.Slot {
					conf.Disks[i] = c.there
				}
			}
			o := converge(t, w, desired(v)).object(t, "web")
			if o.Ready() || len(o.Refused) != 1 || !strings.Contains(o.Refused[0].Why, c.there.Volume) {
				t.Errorf("plan:\n%s", o)
			}
			if d, _ := w.Guests[id].Config.DiskAt(c.there.Slot); d.Volume != c.there.Volume {
				t.Errorf("%s is %v now", c.there.Slot, d)
			}
		})
	}
}

// What was in the slot is still known when the drive that somebody had put there is gone.
func TestADiskIsPluggedInAgainWhereADriveWasInItsWay(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.Disks = append(v.Disks, model.Disk{Slot: "scsi3", Name: "data", Size: 8 << 30, Storage: "nfs"})
	id := converge(t, w, desired(v)).object(t, "web").VMID
	conf := w.Guests[id].Config
	was, _ := conf.DiskAt("scsi3")
	at := slices.IndexFunc(conf.Disks, func(d model.Disk) bool { return d.Slot == "scsi3" })
	conf.Disks[at] = model.Disk{Slot: "scsi3", Volume: "none", CDROM: true}
	conf.Unused = append(conf.Unused, model.Disk{Slot: "unused0", Volume: was.Volume, Storage: "nfs"}, model.Disk{Slot: "unused1", Volume: "nfs:5000/vm-5000-disk-9.raw", Storage: "nfs"})
	converge(t, w, desired(v))
	conf = w.Guests[id].Config
	conf.Disks = slices.DeleteFunc(conf.Disks, func(d model.Disk) bool { return d.CDROM && d.Volume == "none" })
	o := converge(t, w, desired(v)).object(t, "web")
	if d, _ := w.Guests[id].Config.DiskAt("scsi3"); d.Volume != was.Volume {
		t.Errorf("scsi3 is %v now, and was %v\n%s", d, was, o)
	}
}

// Removing the drive that a slot will have takes the disk along that the guest runs with.
func TestADiskThatADriveIsToDisplaceIsNotRemovedUnasked(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.Disks = append(v.Disks, model.Disk{Slot: "scsi3", Name: "data", Size: 8 << 30, Storage: "nfs"})
	id := converge(t, w, desired(v)).object(t, "web").VMID
	conf := w.Guests[id].Config
	was, _ := conf.DiskAt("scsi3")
	at := slices.IndexFunc(conf.Disks, func(d model.Disk) bool { return d.Slot == "scsi3" })
	drive := model.Disk{Slot: "scsi3", Name: "data", Volume: "none", CDROM: true}
	conf.Disks[at], conf.Running = drive, &model.Config{Disks: []model.Disk{was}}
	pending := "none,media=cdrom"
	conf.Pending = map[string]*string{"scsi3": &pending}

	v.Disks = v.Disks[:len(v.Disks)-1]
	o := w.planAll(desired(v)).object(t, "web")
	if len(o.Refused) == 0 || o.Refused[0].Effect != LosesData {
		t.Errorf("plan:\n%s", o)
	}
	for _, s := range o.Steps {
		if c, ok := s.Action.(model.Configure); ok && slices.Contains(c.Delete, "scsi3") {
			t.Errorf("scsi3 goes, with what is on it:\n%s", o)
		}
	}
}

func TestATemplateIsNeitherStartedNorUpToDate(t *testing.T) {
	for _, power := range []model.Power{model.PowerOn, model.PowerOff, ""} {
		w := newWorld()
		v := testVM("web")
		v.Power = power
		id := converge(t, w, desired(v)).object(t, "web").VMID
		g := w.Guests[id]
		g.Template, g.Status = true, model.StatusStopped
		v.Options = map[string]string{"cores": "2", "memory": "4096"}
		o := converge(t, w, desired(v)).object(t, "web")
		if o.Ready() || len(o.Steps) > 0 || o.Wait == nil || o.Wait.Reason != model.WaitUnfit || !strings.Contains(o.Wait.Text, "template") {
			t.Errorf("powerState %q, plan:\n%s", power, o)
		}
		v.Deleted = true
		if o := converge(t, w, desired(v)).object(t, "web"); !o.Gone {
			t.Errorf("it doesn't go any more:\n%s", o)
		}
	}
}

// The copy could never be made when the machine is gone with its snapshots.
func TestAMachineGoesWhenItsSnapshotIsCopied(t *testing.T) {
	for reason, goes := range map[string]func(*model.VM){
		"it is deleted":  func(v *model.VM) { v.Deleted = true },
		"it is replaced": func(v *model.VM) { v.VMID, v.Update = 5500, model.Allow{Replace: true, Data: true} },
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld()
			web := testVM("web")
			id := converge(t, w, desired(web)).object(t, "web").VMID
			w.Guests[id].Snapshots = []model.SnapshotInfo{{Name: "before"}}
			v := copyOf(web, "copy")
			v.Source.Snapshot = "before"
			goes(&web)
			first := w.plan(desired(web, v))
			if o := first.object(t, "web"); len(o.Steps) > 0 || o.Wait == nil || o.Wait.Reason != model.WaitDependents {
				t.Errorf("plan of the machine:\n%s", o)
			}
			if o := first.object(t, "copy"); len(o.Steps) == 0 {
				t.Errorf("plan of the copy:\n%s", o)
			}
			p := converge(t, w, desired(web, v))
			if o := p.object(t, "copy"); !o.Ready() || w.Guests[id] != nil {
				t.Errorf("VM %d is %v; plan:\n%s", id, w.Guests[id], p)
			}
		})
	}
}
