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

// Where no node with a template of another namespace's image can take a machine, the machine is placed on one that could have
// a template, and says which it waits for. The other namespace has it made there.
func TestATemplateOfALentImageIsAskedFor(t *testing.T) {
	image := model.Image{
		Owner: model.Owner{Door: "vm", Set: "k8s", Key: model.Key{Kind: "VMImage", Namespace: "base", Name: "debian"}, UID: "u-1"},
		URL:   "https://example.com/debian.qcow2", Lent: true,
	}
	w := newWorld()
	template := &model.Guest{}
	for _, g := range w.Guests {
		if g.Template {
			g.Config.Marker = &model.Marker{Owner: versioned(image)}
			template = g
		}
	}
	for _, s := range w.Storages {
		s.Shared = false
	}
	image.VMID = template.VMID
	v := testVM("web")
	v.Source = model.Source{Image: image.Owner.Key}
	want := desired(v)
	want.Images = []model.Image{image}
	if o := w.plan(want).object(t, "web"); o.Node != template.Node || o.Wait != nil {
		t.Errorf("a node that has the template isn't preferred:\n%+v", o)
	}
	other := ""
	for name := range w.Nodes {
		if name != template.Node {
			other = name
		}
	}
	want.VMs[0].Place.Nodes = []string{other}
	p := w.plan(want)
	o := p.object(t, "web")
	if o.Node != other || o.Awaits != image.Copy(other).Object().Key || o.Wait == nil || !strings.Contains(o.Wait.Text, "first: debian on "+other+", which namespace base makes") {
		t.Errorf("it isn't asked for:\n%s", p)
	}

	// In the namespace of the image it is one of the nodes that need it.
	image.Lent, image.VMID, image.Asked, image.Range = false, 0, []string{other, "nowhere"}, model.Range{First: 5000, Last: 5999}
	p = w.plan(model.Desired{Set: "k8s", Images: []model.Image{image}})
	if made := p.object(t, "debian@"+other); len(made.Steps) == 0 {
		t.Errorf("it isn't made:\n%s", p)
	}
}
