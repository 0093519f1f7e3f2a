package plan

import (
	"slices"
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
	if o := p.Objects[2]; o.Owner.Name != "copy" || o.Wait == nil || o.Wait.Reason != WaitSource {
		t.Errorf("it should wait:\n%s", p)
	}
	converge(t, w, want)
}
