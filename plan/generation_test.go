package plan

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

// TestMachinesOfOtherSetsDoNotKeepAnEarlierTemplate: nobody reads their configs but whoever wants to know.
func TestMachinesOfOtherSetsDoNotKeepAnEarlierTemplate(t *testing.T) {
	for _, linked := range []bool{false, true} {
		w, img := newWorld(), fetched("cloud")
		img.Storage = "nfs"
		want := model.Desired{Set: "default", Images: []model.Image{img}}
		converge(t, w, want)
		old := 0
		for id, g := range w.Guests {
			if g.Name == "cloud" {
				old = id
			}
		}
		other := model.Owner{Door: "vm", Set: "other", Key: Key{Kind: "VirtualMachine", Name: "theirs"}}
		for i := range 50 {
			g := w.plain(700+i, "theirs", "pve2")
			g.Tags = []string{model.Tag, model.StateTag(other, "aaaaaaaa")}
			if linked && i == 33 {
				g.Config.Disks[0].Volume = "nfs:" + itoa(old) + "/base-" + itoa(old) + "-disk-0.qcow2/733/vm-733-disk-0.qcow2"
			}
		}
		img.Checksum = "bb"
		want.Images = []model.Image{img}
		converge(t, w, want)
		if there := w.Guests[old] != nil; there != linked {
			t.Errorf("a linked clone there is: %t; the earlier template is there: %t", linked, there)
		}
	}
}

// TestGuestsWithoutOurTagsKeepTheTemplateThatTheyHangOn: nobody reads their configs, and Proxmox destroys no template
// that has linked clones.
func TestGuestsWithoutOurTagsKeepTheTemplateThatTheyHangOn(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		w, img := newWorld(), fetched("cloud")
		img.Storage = "nfs"
		want := model.Desired{Set: "default", Images: []model.Image{img}}
		converge(t, w, want)
		old := 0
		for id, g := range w.Guests {
			if g.Name == "cloud" {
				old = id
			}
		}
		w.plain(733, "theirs", "pve2").Config.Disks[0].Volume = "nfs:" + itoa(old) + "/base-" + itoa(old) + "-disk-0.qcow2/733/vm-733-disk-0.qcow2"
		if img.Deleted = deleted; !deleted {
			img.Checksum = "bb"
		}
		want.Images = []model.Image{img}
		p := converge(t, w, want)
		if w.Guests[old] == nil {
			t.Errorf("deleted: %t; a template is destroyed that a guest hangs on:\n%s", deleted, p)
		}
		delete(w.Guests, 733)
		if p = converge(t, w, want); w.Guests[old] != nil {
			t.Errorf("deleted: %t; a template stays that nothing hangs on:\n%s", deleted, p)
		}
	}
}

// TestAHalfMadeTemplateGoesWhenItsImageChanges: it isn't a template yet, and nobody would finish it.
func TestAHalfMadeTemplateGoesWhenItsImageChanges(t *testing.T) {
	for _, storage := range []string{"nfs", "local-lvm"} {
		for turns := range 5 {
			w, img := newWorld(), fetched("cloud")
			img.Storage = storage
			want := model.Desired{Set: "default", Images: []model.Image{img}}
			w.turns(&want, turns)
			img.Checksum = "bb"
			want.Images = []model.Image{img}
			p := converge(t, w, want)
			made := 0
			for _, g := range w.Guests {
				if g.Name == "cloud" {
					made++
				}
			}
			if !p.Ready() || made != 1 || len(w.Files) > 0 {
				t.Errorf("on %s, changed after %d turns: %d VMs, files %v\n%s", storage, turns, made, w.Files, p)
			}
		}
	}
}
