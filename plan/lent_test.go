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

// TestImagesOfOtherNamespacesOnEachNode: machines are made from what another namespace has, where it has it, and ask for it where it
// could have it.
func TestImagesOfOtherNamespacesOnEachNode(t *testing.T) {
	lend := func(i *model.Image) {
		i.Owner.Namespace, i.Lent = "base", true
	}
	stage := func(name string, change func(w *world, i *model.Image)) situation {
		return situation{name, func(_ *testing.T, w *world, d *model.Desired) {
			i := fetched(testImage.Owner.Name)
			i.URL, i.Template = "", "ubuntu-22-template"
			w.template(9000, "ubuntu-22-template", "pve1", "local-lvm")
			change(w, &i)
			lend(&i)
			if i.URL != "" {
				w.Guests[9000].Config.Marker = &model.Marker{Owner: versioned(i)}
				i.VMID = 9000
			}
			d.Images[0], d.VMs[0].Source.Image, d.VMs[0].Place.Nodes = i, i.Owner.Key, []string{"pve2"}
		}}
	}
	var list troubles
	for _, node := range []string{"pve1", "pve2"} {
		list.add(node+" is offline", func(w *world, _ *model.Desired) { w.Nodes[node].Online = false })
		list.add(node+" has left the cluster", func(w *world, _ *model.Desired) { delete(w.Nodes, node) })
	}
	list.add("it isn't to be copied", func(_ *world, d *model.Desired) { d.Images[0].NoCopies = true })
	list.add("it is on a shared storage", func(w *world, _ *model.Desired) { disk(w.Guests[9000].Config, "scsi0").Volume = "nfs:base-9000-disk-0" })
	list.add("its storage isn't on pve2", func(w *world, _ *model.Desired) {
		s := deep(*w.Storages["local-lvm"])
		delete(s.OnNode, "pve2")
		w.Storages["local-lvm"] = &s
	})
	list.add("its storage was just added to pve2", func(w *world, _ *model.Desired) {
		s := deep(*w.Storages["local-lvm"])
		delete(s.OnNode, "pve2")
		s.Late = map[string]bool{"pve2": true}
		w.Storages["local-lvm"] = &s
	})
	list.add("it has an ISO image on a storage that isn't on pve2", func(w *world, _ *model.Desired) {
		w.storage("files", "dir", false, 100, "iso", "pve1")
		w.Guests[9000].Config.Disks = append(w.Guests[9000].Config.Disks, model.Disk{Slot: "ide2", Volume: "files:iso/first.iso", Storage: "files", CDROM: true})
	})
	list.add("it has a disk on a storage that isn't seen", func(w *world, _ *model.Desired) {
		w.Guests[9000].Config.Disks = append(w.Guests[9000].Config.Disks, model.Disk{Slot: "scsi1", Volume: "hidden:base-9000-disk-1", Storage: "hidden"})
	})
	list.add("the machine may go anywhere", func(_ *world, d *model.Desired) { d.VMs[0].Place.Nodes = nil })
	list.add("the machine may go anywhere, and pve1 is full", func(w *world, d *model.Desired) {
		d.VMs[0].Place.Nodes, w.Nodes["pve1"].Used = nil, w.Nodes["pve1"].Memory
	})
	list.add("it is gone", func(w *world, _ *model.Desired) { delete(w.Guests, 9000) })
	list.add("it isn't a template", func(w *world, _ *model.Desired) { w.Guests[9000].Template = false })
	list.add("it isn't read", func(w *world, _ *model.Desired) {
		w.seeing(func(o *model.Observed) { o.Guests[9000].Config = nil })
	})
	list.add("it goes", func(_ *world, d *model.Desired) { d.Images[0].Deleted = true })
	list.add("others ask for it, too", func(_ *world, d *model.Desired) { d.Images[0].Asked = all3 })
	list.add("all nodes are to have it", func(_ *world, d *model.Desired) { d.Images[0].Ahead = []string{model.AllNodes} })
	matrix(t, "lent", []situation{
		stage("a template", func(*world, *model.Image) {}),
		stage("fetched", func(_ *world, i *model.Image) { i.URL, i.Template = "https://example.com/x.qcow2", "" }),
	}, list)
}
