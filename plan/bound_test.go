package plan

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// TestATemplateThatFailedIsAwaitedByMachinesOfItsImageOnly: a machine that waits on the node for another
// image doesn't keep the template in the plan.
func TestATemplateThatFailedIsAwaitedByMachinesOfItsImageOnly(t *testing.T) {
	for _, c := range []struct {
		reason   string
		template string // that the machine waits for
		planned  bool
	}{
		{"nobody waits", "", false},
		{"a machine of the image waits there", "first@pve2", true},
		{"a machine of the image waits elsewhere", "first@pve3", false},
		{"a machine of another image waits there", "second@pve2", false},
	} {
		first, second := fetched("first"), fetched("second")
		first.Used, second.Used = true, true
		first.Storage, second.Storage = "local-lvm", "local-lvm"
		w, d := wishWorld(), desired()
		d.Images = []model.Image{first, second, first.Copy("pve2")}
		failed := first.Copy("pve2").Object().Key
		w.fails = map[Key]model.Failure{failed: {What: "make it", Text: "no space left", Hard: true}}
		if c.template != "" {
			w.also = func(have *model.Observed) {
				have.Bound = map[Key]model.Bound{{Kind: "VirtualMachine", Name: "web"}: {Node: "pve2", Template: Key{Kind: "VMImage", Name: c.template}}}
			}
		}
		p, _ := w.planLooks(d)
		if planned := slices.ContainsFunc(p.Objects, func(o Object) bool { return o.Owner.Key == failed }); planned != c.planned {
			t.Errorf("%s: the template is planned %t, want %t\n%s", c.reason, planned, c.planned, p)
		}
	}
}
