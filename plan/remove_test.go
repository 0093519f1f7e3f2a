package plan

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

func TestNobodyIsDestroyedBeforeItIsKnownWhetherItRuns(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	converge(t, w, want)
	want.VMs[0].Deleted = true
	have := w.observe(w.plan(want).Look())
	for id, g := range have.Guests {
		if !g.Template {
			unsure := *g
			unsure.Config, unsure.Status = w.Guests[id].Config, model.StatusUnknown
			have.Put(&unsure)
		}
	}
	p := For(want, have)
	if len(p.Look().Status) != 1 || p.Steps() != 0 {
		t.Errorf("the plan should look first:\n%s", p)
	}
}

// What no manifest names any more can't say that it isn't to be protected.
func TestPruningLeavesWhatIsProtected(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.Options["protection"] = "1"
	converge(t, w, desired(v))
	want := desired()
	want.Prune = true
	o := converge(t, w, want).object(t, "web")
	if len(o.Refused) != 1 || o.Refused[0].Allow != model.AllowDelete {
		t.Fatalf("plan:\n%s", o)
	}
}
