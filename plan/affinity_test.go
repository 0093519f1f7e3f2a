package plan

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

// A guest goes to a node that has all CPUs that it is to run on.
func TestAffinityNamesCPUsThatANodeHas(t *testing.T) {
	for _, c := range []struct {
		affinity string
		cpus     int
		want     string
	}{
		{"0-3,8", 16, ""},
		{"15", 16, ""},
		{"16", 16, "affinity names CPU 16, and there are 16, from 0 on"},
		{"0-3,20-24", 16, "affinity names CPU 20, and there are 16, from 0 on"},
		{"99", 0, ""}, // nobody knows how many it has
		{"", 1, ""},
	} {
		if got := lacksAffinity(map[string]string{"affinity": c.affinity}, &model.Node{CPUs: c.cpus}); got != c.want {
			t.Errorf("%q of %d CPUs: %q, want %q", c.affinity, c.cpus, got, c.want)
		}
	}
}

func TestAffinityIsLookedAtOfGuestsThatAreThere(t *testing.T) {
	w := newWorld()
	w.Root = true
	v := testVM("web")
	converge(quiet{t}, w, desired(v))
	v.Options = withOption(v.Options, "affinity", "0-64")
	p := w.plan(desired(v))
	o := p.Objects[len(p.Objects)-1]
	if o.Wait == nil || o.Wait.Reason != model.WaitUnfit || len(o.Steps) > 0 {
		t.Errorf("the plan is\n%s", p)
	}
}
