package plan

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/model"
	_ "github.com/proxplane/proxplane/test/kit/chance"
)

// TestConvergesThroughCrashes: from any state that our own steps can leave
// behind, with any of them done or not, turns lead to what is wanted.
func TestConvergesThroughCrashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		vms := map[string]model.VM{}
		for round := range rapid.IntRange(1, 6).Draw(t, "rounds") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, fmt.Sprint("name", round))
			v, ok := vms[name]
			if !ok {
				v = testVM(name)
				v.NICs[0].MAC = ""
			}
			v.Disks = slices.Clone(v.Disks)
			v.Update = model.Allow{Restart: true, Replace: true, Data: true}
			v.Options = map[string]string{"cores": fmt.Sprint(rapid.IntRange(1, 8).Draw(t, "cores")), "memory": fmt.Sprint(1024 * rapid.IntRange(1, 8).Draw(t, "gib"))}
			v.Disks[0].Size = max(v.Disks[0].Size, int64(rapid.IntRange(40, 60).Draw(t, "disk"))<<30)
			v.Disks = v.Disks[:1]
			if rapid.Bool().Draw(t, "second disk") {
				v.Disks = append(slices.Clone(v.Disks), model.Disk{Slot: "scsi1", Size: 5 << 30, Storage: "nfs"})
			}
			v.Seed = nil
			if rapid.Bool().Draw(t, "seed") {
				v.Seed = &model.Seed{Storage: "nfs", Digest: rapid.StringMatching("[a-f]{16}").Draw(t, "digest")}
			}
			v.Power = rapid.SampledFrom([]model.Power{model.PowerOn, model.PowerOff, model.PowerOffGraceful}).Draw(t, "power")
			v.Deleted = rapid.IntRange(0, 4).Draw(t, "delete") == 0
			vms[name] = v
			var list []model.VM
			for _, k := range slices.Sorted(keysOf(vms)) {
				list = append(list, vms[k])
			}
			want := desired(list...)
			for range rapid.IntRange(0, 8).Draw(t, "steps before the crash") {
				if s := w.plan(want).steps(); len(s) > 0 {
					w.Do(s[rapid.IntRange(0, len(s)-1).Draw(t, "which")].Action)
				}
			}
			if round%2 == 1 {
				continue // the process died; the next wish comes
			}
			p := converge(t, w, want)
			check(t, w, want, p)
		}
	})
}

// steps are all that could be done next.
func (p Plan) steps() []Step {
	var all []Step
	for _, o := range p.Objects {
		all = append(all, o.Next()...)
	}
	return all
}

func check(t *rapid.T, w *world, want model.Desired, p Plan) {
	for _, o := range p.Objects {
		if !o.Ready() {
			t.Fatalf("not up to date:\n%s", p)
		}
	}
	seeds := 0
	for _, v := range want.VMs {
		var mine []*model.Guest
		for _, g := range w.Guests {
			if g.OwnedBy(v.Owner) {
				mine = append(mine, g)
			}
		}
		switch {
		case v.Deleted && len(mine) != 0:
			t.Fatalf("%s is still there", v.Owner.Key)
		case !v.Deleted && len(mine) != 1:
			t.Fatalf("%s is there %d times", v.Owner.Key, len(mine))
		}
		if !v.Deleted && v.Seed != nil {
			seeds++
		}
	}
	if len(w.Files) != seeds {
		t.Fatalf("files %v, want %d", w.Files, seeds)
	}
	if again := w.plan(want); again.Steps() > 0 {
		t.Fatalf("a perpetual diff:\n%s", again)
	}
}
