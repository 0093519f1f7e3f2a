package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// unsaid are the changes of steps that none of their differences is about.
func unsaid(p Plan) (list []string) {
	for _, o := range p.Objects {
		for _, r := range o.Refused {
			list = append(list, incomplete(r.What, r.Diff)...)
		}
		for _, s := range o.Steps {
			list = append(list, incomplete(s.What, s.Diff)...)
			a, ok := s.Action.(model.Configure)
			if !ok || s.Effect == New {
				continue
			}
			for _, field := range touched(a) {
				if !slices.ContainsFunc(s.Diff, func(d model.Difference) bool { return about(d, field, a) }) {
					list = append(list, s.What+": "+field+" changes, and its differences are "+s.Reason())
				}
			}
		}
	}
	return list
}

// incomplete are differences that don't say all that programs need.
func incomplete(what string, diff []model.Difference) (list []string) {
	for _, d := range diff {
		if d.Field == "" || d.Effect == "" || !slices.Contains(model.Verbs, d.Verb) {
			list = append(list, what+": "+d.String()+" lacks something")
		}
	}
	return list
}

// touched are the options and slots that a call changes.
func touched(a model.Configure) []string {
	fields := slices.Concat(slices.Collect(keysOf(a.Set)), a.Delete)
	for _, d := range a.Disks {
		fields = append(fields, d.Slot)
	}
	for _, n := range a.NICs {
		fields = append(fields, n.Slot)
	}
	return fields
}

// about reports whether a difference is about an option or slot. First-boot data has its own
// differences, whichever drive it is in.
func about(d model.Difference, field string, a model.Configure) bool {
	slot, _ := d.Slot()
	if d.Field == field || slot == field {
		return true
	}
	if field == "boot" && d.Verb == model.VerbAttach {
		return true // a disk that comes back is booted from again
	}
	if d.Field != model.FieldFirstBoot && d.Field != model.FieldCloudInit {
		return false
	}
	drive := slices.ContainsFunc(a.Disks, func(n model.NewDisk) bool { return n.Slot == field && n.CDROM })
	return drive || slices.Contains(a.Delete, field) && isDisk(field) || field == snippetsOption
}

// TestEachDifferenceHasItsFieldValuesAndEffect: what a provider of another tool needs to
// show for each change, with what it changes from and to.
func TestEachDifferenceHasItsFieldValuesAndEffect(t *testing.T) {
	set := func(field, from, to string, e Effect) model.Difference {
		return model.Difference{Verb: model.VerbSet, Field: field, From: from, To: to, Effect: e}
	}
	for name, c := range inOrder(map[string]struct {
		change func(*model.VM)
		want   []model.Difference
	}{
		"memory needs a restart":   {func(v *model.VM) { v.Options["memory"] = "8192" }, []model.Difference{set("memory", "4096", "8192", Restart)}},
		"a tag is live":            {func(v *model.VM) { v.Tags = []string{"blue"} }, []model.Difference{set("tags", "", "blue", Live)}},
		"the boot disk grows live": {func(v *model.VM) { v.Disks[0].Size = 60 << 30 }, []model.Difference{set("scsi0.size", "42949672960", "64424509440", Live)}},
		"a bridge is live":         {func(v *model.VM) { v.NICs[0].Bridge = "vmbr1" }, []model.Difference{set("net0.bridge", "vmbr0", "vmbr1", Live)}},
		"another VLAN, too":        {func(v *model.VM) { v.NICs[0].VLAN = 7 }, []model.Difference{set("net0.tag", "", "7", Live)}},
		"a new disk is live": {
			func(v *model.VM) {
				v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Size: 5 << 30, Storage: "nfs"})
			},
			[]model.Difference{{Verb: model.VerbAdd, Field: "scsi1", To: "5368709120", Effect: Live}},
		},
		"a machine stops": {func(v *model.VM) { v.Power = model.PowerOff }, []model.Difference{set(model.FieldPower, "running", "stopped", PowerOff)}},
		"another VMID replaces it": {
			func(v *model.VM) { v.VMID = 7777 }, []model.Difference{set(model.FieldVMID, "VMID", "7777", Replace)},
		},
		"a password isn't told": {
			func(v *model.VM) {
				v.Options[model.Password], v.Password.Mark = "hunter2", "m1"
			},
			[]model.Difference{set(model.Password, "", "", Later)},
		},
	}) {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			v := testVM("web")
			v.Options = map[string]string{"cores": "2", "memory": "4096"}
			v.NICs[0].Bridge = "vmbr0"
			converge(t, w, desired(v))
			v.Options = map[string]string{"cores": "2", "memory": "4096"}
			v.Disks, v.NICs = slices.Clone(v.Disks), slices.Clone(v.NICs)
			c.change(&v)
			o := w.plan(desired(v)).Objects[2]
			var got []model.Difference
			for _, s := range o.Steps {
				got = append(got, s.Diff...)
			}
			for _, r := range o.Refused {
				got = append(got, r.Diff...)
			}
			for _, want := range c.want {
				if want.From == "VMID" {
					want.From = itoa(o.VMID)
				}
				if !slices.Contains(got, want) {
					t.Errorf("%+v isn't among the differences of\n%s", want, o)
				}
			}
			if strings.Contains(o.String(), "hunter2") {
				t.Errorf("the plan has the password:\n%s", o)
			}
		})
	}
}
