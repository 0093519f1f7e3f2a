package plan

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// The template of another namespace's image is used where it is, and never made, changed
// or removed.
func TestALentImageIsOnlyClonedFrom(t *testing.T) {
	image := model.Image{
		Owner: model.Owner{Door: "vm", Set: "k8s", Key: model.Key{Kind: "VMImage", Namespace: "base", Name: "debian"}, UID: "u-1"},
		URL:   "https://example.com/debian.qcow2", Lent: true,
	}
	v := testVM("web")
	v.Source = model.Source{Image: image.Owner.Key}
	plans := func(vmid int, change func(*model.Guest)) Plan {
		w := newWorld()
		for _, g := range w.Guests {
			if g.Template {
				g.Config.Marker = &model.Marker{Owner: versioned(image)}
				if change != nil {
					change(g)
				}
			}
		}
		i := image
		i.VMID = vmid
		want := desired(v)
		want.Images = []model.Image{i}
		return w.plan(want)
	}
	template := 0
	for id, g := range newWorld().Guests {
		if g.Template {
			template = id
		}
	}
	p := plans(template, nil)
	if len(p.Objects) != 1 || len(p.Objects[0].Steps) == 0 || p.Objects[0].Wait != nil {
		t.Errorf("it isn't cloned:\n%s", p)
	}
	for text, p := range map[string]Plan{
		"hasn't been fetched yet": plans(0, nil),
		"isn't here":              plans(777777, nil),
		"isn't the template of":   plans(template, func(g *model.Guest) { g.Config.Marker = nil }),
	} {
		if o := p.object(t, "web"); len(p.Objects) != 1 || len(o.Steps) > 0 || o.Wait == nil || !strings.Contains(o.Wait.Text, text) {
			t.Errorf("%s:\n%s", text, p)
		}
	}
}
