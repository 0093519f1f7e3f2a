package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/model"
	_ "github.com/proxplane/proxplane/test/kit/chance"
)

// waitingFor is an image that is to be fetched, guests that are made from it, a copy
// of one of them and a snapshot of that.
func waitingFor() model.Desired {
	image := model.Image{
		Owner: owner("VMImage", "cloud"), URL: "https://images.example.com/cloud.qcow2", Storage: "nfs",
		Options: map[string]string{"boot": "order=scsi0", "agent": "1"}, Range: model.Range{First: 6000, Last: 6999},
	}
	web, db := testVM("web"), testVM("db")
	web.Source, db.Source = model.Source{Image: image.Owner.Key}, model.Source{Image: image.Owner.Key}
	db.Seed = &model.Seed{Storage: "nfs", Digest: "abcdef"}
	db.NICs = slices.Clone(db.NICs)
	for i := range db.NICs {
		db.NICs[i].MAC = "02:00:00:AA:BB:DB"
	}
	db.Disks = append(db.Disks, model.Disk{Slot: "scsi1", Storage: "local-lvm", Size: 5 << 30})
	copied := testVM("copy")
	copied.Owner.Kind, copied.Source, copied.Disks, copied.Power = "VMClone", model.Source{VM: web.Owner.Key}, nil, model.PowerOff
	s := testSnapshot("before")
	s.Memory = false
	s.VM = copied.Owner.Key
	return model.Desired{Set: "default", Images: []model.Image{image}, VMs: []model.VM{copied, web, db}, Snapshots: []model.Snapshot{s}}
}

// kinds are the kinds of actions, each once, in their order.
func kinds(steps []Step) []string {
	var list []string
	for _, s := range steps {
		if kind := fmt.Sprintf("%T", s.Action); !slices.Contains(list, kind) {
			list = append(list, kind)
		}
	}
	return list
}

func TestWhatIsForeseenIsWhatComes(t *testing.T) {
	w := newWorld()
	want := waitingFor()
	want.Foresee = true
	foreseen := w.plan(want)
	done := map[model.Key][]Step{}
	where := map[model.Key]int{}
	for range 60 {
		for _, o := range w.plan(want).Objects {
			for _, s := range o.Next() {
				w.Do(s.Action)
				done[o.Owner.Key] = append(done[o.Owner.Key], s)
				where[o.Owner.Key] = o.VMID
			}
		}
	}
	for _, o := range foreseen.Objects {
		if diff := cmp.Diff(kinds(done[o.Owner.Key]), kinds(o.Steps)); diff != "" {
			t.Errorf("%s (-done +foreseen):\n%s", o.Owner.Key, diff)
		}
		if o.VMID != where[o.Owner.Key] {
			t.Errorf("%s: foreseen as VM %d, came as VM %d", o.Owner.Key, o.VMID, where[o.Owner.Key])
		}
	}
	if p := w.plan(want); !p.Ready() {
		t.Errorf("in the end:\n%s", p)
	}
}

func TestALossThatIsForeseenIsShown(t *testing.T) {
	w := newWorld()
	want := waitingFor()
	want.Allow.Data = true
	converge(t, w, want)
	want.Snapshots[0].Revert = "now"
	want.VMs[0].Options = map[string]string{"cores": "1"}
	want.Foresee = true
	o := w.plan(want).Objects[4]
	if !o.Foreseen || len(o.Steps) != 1 || o.Steps[0].Effect != LosesData || len(o.Next()) != 0 {
		t.Errorf("plan:\n%s", o)
	}
}

// Nobody decides anything else because something is foreseen.
func TestForesightChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		want := waitingFor()
		for i := range want.VMs {
			want.VMs[i].Deleted = rapid.IntRange(0, 5).Draw(t, "delete") == 0
			want.VMs[i].Place.MinFree = int64(rapid.SampledFrom([]int{0, 50, 60, 62}).Draw(t, "free")) << 30
		}
		for range rapid.IntRange(0, 25).Draw(t, "steps") {
			if s := w.plan(want).steps(); len(s) > 0 {
				w.Do(s[rapid.IntRange(0, len(s)-1).Draw(t, "which")].Action)
			}
		}
		plain := w.plan(want)
		want.Foresee = true
		for i, o := range w.plan(want).Objects {
			if o.Foreseen {
				if o.Wait == nil || len(o.Next()) > 0 || len(plain.Objects[i].Steps) > 0 {
					t.Fatalf("foreseen:\n%s\nplain:\n%s", o, plain.Objects[i])
				}
				o = plain.Objects[i]
			}
			if got, want := o.String(), plain.Objects[i].String(); got != want {
				t.Fatalf("with foresight:\n%s\nwithout:\n%s", strings.TrimSpace(got), want)
			}
		}
	})
}

// Whoever lacks something shall know before an image is fetched for it.
func TestWhatPeopleHaveToDoIsForeseen(t *testing.T) {
	w := newWorld()
	want := waitingFor()
	want.Foresee = true
	want.VMs[1].Scripts = []string{"nfs:snippets/proxplane-hook"}
	want.VMs[2].Options = map[string]string{"args": "-device x"}
	objects := w.plan(want).Objects
	for i, text := range map[int]string{
		2: "vmimage/cloud isn't ready yet; after that, no node can take it (pve1, pve2, pve3: nfs:snippets/proxplane-hook isn't there)",
		3: "vmimage/cloud isn't ready yet; after that, only root@pam, logged in with its password, may set args",
	} {
		o := objects[i]
		if o.Wait == nil || !strings.HasPrefix(o.Wait.Text, text) || len(o.Steps) > 0 || len(o.Next()) > 0 {
			t.Errorf("%s: %s\nwant it to wait: %s", o.Owner.Key, o, text)
		}
	}
}
