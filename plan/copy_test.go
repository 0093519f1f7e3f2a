package plan

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

func TestACopyWaitsUntilItsSourceIsUpToDate(t *testing.T) {
	w := newWorld()
	web, clone := testVM("web"), testVM("copy")
	converge(t, w, desired(web))
	web.Disks = slices.Clone(web.Disks)
	web.Disks[0].Size += 10 << 30
	clone.Source = model.Source{VM: web.Owner.Key}
	want := desired(clone, web)
	p := w.plan(want)
	if o := p.Objects[2]; o.Owner.Name != "copy" || o.Wait == nil || o.Wait.Reason != model.WaitSource {
		t.Errorf("it should wait:\n%s", p)
	}
	converge(t, w, want)
}

// copyOf is a VMClone of a machine, with first-boot data and options that come from
// there.
func copyOf(from model.VM, name string) model.VM {
	v := testVM(name)
	v.Owner.Kind = "VMClone"
	v.Source = model.Source{VM: from.Owner.Key, Copy: true}
	v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaabbbbcccc", Once: true, Files: map[string][]byte{"user-data": []byte("x")}}
	v.Options = maps.Clone(v.Options)
	v.Options["agent"], v.Options["ciuser"] = "1", "me"
	v.Managed = []string{"ciuser"}
	v.Inherited = []string{model.InheritedSeed, model.InheritedNICs, "agent", "ciuser"}
	v.NICs = slices.Clone(v.NICs)
	for i := range v.NICs {
		v.NICs[i].MAC = "02:00:00:AA:BB:C0"
	}
	return v
}

func TestACopyStandsAloneOnceItIsMade(t *testing.T) {
	gone := func(v *model.VM) {
		v.Source.VM, v.Source.Image = Key{}, Key{Kind: "Template", Name: "web"}
		v.Seed, v.Options, v.Managed, v.Inherited, v.NICs = nil, testVM("copy").Options, nil, []string{model.InheritedSeed, model.InheritedNICs}, nil
	}
	for _, c := range []struct {
		reason string
		change func(v *model.VM)
		note   string
	}{
		{"its source is as it was", func(*model.VM) {}, ""},
		{"its source has got other first-boot data", func(v *model.VM) {
			v.Seed = &model.Seed{Storage: "nfs", Digest: "ddddeeeeffff", Once: true}
		}, "its first-boot data stay as they were made from virtualmachine/web"},
		{"its source is gone", gone, ""},
		{"an image has the name of its source", func(v *model.VM) {
			gone(v)
			v.Source.Image.Kind = "VMImage"
			v.Options = maps.Clone(v.Options)
			v.Options["bios"], v.Options["machine"] = "ovmf", "q35"
			v.Disks = append(slices.Clone(v.Disks), model.Disk{Slot: "efidisk0", Storage: "nfs"})
			v.NICs = []model.NIC{{Slot: "net7", Model: "virtio", Bridge: "vmbr9"}}
			v.Inherited = append(v.Inherited, "bios", "machine")
		}, ""},
		{"its manifest names another source", func(v *model.VM) {
			gone(v)
			v.Source.Image.Name = "other"
		}, "it was copied from virtualmachine/web and stays as it is, though its source is declared as template/other now; delete the clone and apply again to copy that"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld()
			web := testVM("web")
			v := copyOf(web, "copy")
			converge(t, w, desired(web, v))
			vmid := w.plan(desired(web, v)).Objects[3].VMID
			was := *w.Guests[vmid].Config
			c.change(&v)
			v.Update = model.Allow{Restart: true, Replace: true, Data: true}
			p := w.planAll(desired(v))
			o := p.Objects[2]
			if !o.Ready() || noteTexts(o) != c.note {
				t.Errorf("the plan is\n%s", p)
			}
			if got := w.Guests[vmid].Config; got.Digest != was.Digest {
				t.Errorf("the copy was changed: %+v, was %+v", got, was)
			}
			if len(w.Files) != 1 {
				t.Errorf("there are the files %v", w.Files)
			}
			if print := v.Fingerprint(); !slices.Contains(was.Tags, model.StateTag(v.Owner, print)) {
				t.Errorf("the list alone doesn't show that it is up to date: %v, want %s", was.Tags, print)
			}
		})
	}
}

func noteTexts(o Object) string {
	var texts []string
	for _, n := range o.Notes {
		texts = append(texts, n.Text)
	}
	return strings.Join(texts, "; ")
}
