package plan

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// TestUsersOfATemplate: who was made from a template, by disks and by markers.
func TestUsersOfATemplate(t *testing.T) {
	copyOf := func(from int) *model.Marker {
		return &model.Marker{Owner: owner("VMImage", "ubuntu-22"), Version: "v1", From: from}
	}
	for name, c := range inOrder(map[string]struct {
		of      int
		change  func(w *world)
		volumes model.Volumes
		users   []int
	}{
		"nobody": {of: 9000},
		"a linked clone by its disk": {of: 9000, change: func(w *world) {
			w.plain(100, "a", "pve1").Config.Disks[0].Volume = "nfs:9000/base-9000-disk-0.qcow2/100/vm-100-disk-0.qcow2"
		}, users: []int{100}},
		"one that hangs on another template": {of: 9000, change: func(w *world) {
			w.plain(100, "a", "pve1").Config.Disks[0].Volume = "nfs:90001/base-90001-disk-0.qcow2/100/vm-100-disk-0.qcow2"
		}},
		"a linked clone by what storages list": {of: 9000, change: func(w *world) { w.plain(100, "a", "pve1"); w.plain(101, "b", "pve1") },
			volumes: model.Volumes{"lvm": {{ID: "lvm:vm-100-disk-0", VMID: 100, Parent: "base-9000-disk-0"}, {ID: "lvm:vm-101-disk-0", VMID: 101}}}, users: []int{100}},
		"one by its marker": {of: 9000, change: func(w *world) {
			w.plain(100, "a", "pve1").Config.Marker = &model.Marker{Owner: owner("VirtualMachine", "a"), From: 9000}
			w.plain(101, "b", "pve1").Config.Marker = &model.Marker{Owner: owner("VirtualMachine", "b"), From: 9001}
		}, users: []int{100}},
		"a template isn't a user": {of: 9000, change: func(w *world) {
			w.template(9100, "copy", "pve2", "nfs")
			w.Guests[9100].Config.Marker = copyOf(9000)
		}},
		"of those made from a copy the copy is the source": {of: 9000, change: func(w *world) {
			w.template(9100, "copy", "pve2", "nfs")
			w.Guests[9100].Config.Marker = copyOf(9000)
			w.template(9101, "unrelated", "pve3", "nfs")
			w.plain(100, "a", "pve1").Config.Marker = &model.Marker{Owner: owner("VirtualMachine", "a"), From: 9000}
			w.plain(101, "b", "pve2").Config.Marker = &model.Marker{Owner: owner("VirtualMachine", "b"), From: 9000}
			w.plain(102, "c", "pve3").Config.Marker = &model.Marker{Owner: owner("VirtualMachine", "c"), From: 9000}
		}, users: []int{100, 102}},
		"the copy has those on its node": {of: 9100, change: func(w *world) {
			w.template(9100, "copy", "pve2", "nfs")
			w.Guests[9100].Config.Marker = copyOf(9000)
			w.plain(100, "a", "pve1").Config.Marker = &model.Marker{Owner: owner("VirtualMachine", "a"), From: 9000}
			w.plain(101, "b", "pve2").Config.Marker = &model.Marker{Owner: owner("VirtualMachine", "b"), From: 9000}
		}, users: []int{101}},
		"a copy that isn't a template has none": {of: 9000, change: func(w *world) {
			w.plain(9100, "copy", "pve2").Config.Marker = copyOf(9000)
			w.plain(101, "b", "pve2").Config.Marker = &model.Marker{Owner: owner("VirtualMachine", "b"), From: 9000}
		}, users: []int{101, 9100}},
	}) {
		w := newWorld()
		if c.change != nil {
			c.change(w)
		}
		have := &model.Observed{Guests: w.Guests, Volumes: c.volumes}
		w.plain(500, "unread", "pve1")
		w.Guests[500].Config = nil
		var users []int
		for _, g := range Users(w.Guests[c.of], have) {
			users = append(users, g.VMID)
		}
		if !slices.Equal(users, c.users) {
			t.Errorf("%s: the users of %d are %v, want %v", name, c.of, users, c.users)
		}
	}
}

// TestTemplatesThatPlansHaveAskedForStayWanted, while their image is wanted as it was.
func TestTemplatesThatPlansHaveAskedForStayWanted(t *testing.T) {
	image := fetched("cloud")
	asked := Object{Owner: image.Copy("pve2").Object(), On: "pve2"}
	machine := testVM("web")
	machine.Source.Image = image.Owner.Key
	for name, c := range inOrder(map[string]struct {
		change func(d *model.Desired)
		kept   bool
	}{
		"as it was":                  {func(*model.Desired) {}, true},
		"fetched from elsewhere":     {func(d *model.Desired) { d.Images[0].URL = "https://example.com/another.qcow2" }, false},
		"deleted":                    {func(d *model.Desired) { d.Images[0].Deleted = true }, false},
		"of another namespace":       {func(d *model.Desired) { d.Images[0].Lent = true }, false},
		"made anew in Kubernetes":    {func(d *model.Desired) { d.Images[0].Owner.UID = "2" }, false},
		"not wanted any more":        {func(d *model.Desired) { d.Images = nil }, false},
		"a template of it is wanted": {func(d *model.Desired) { d.Images[0] = d.Images[0].Copy("pve3") }, false},
	}) {
		want := model.Desired{Set: "default", Images: []model.Image{image}, VMs: []model.VM{machine}}
		w := NewWanted(want)
		w.LeftOver(asked)
		key := asked.Owner.Key
		if !slices.Contains(w.Copies(image.Owner.Key), key) {
			t.Errorf("%s: it isn't one of the image's templates: %v", name, w.Copies(image.Owner.Key))
		}
		if users := w.Users(key); !slices.Equal(users, []model.Key{image.Owner.Key, machine.Owner.Key}) {
			t.Errorf("%s: its users are %v", name, users)
		}
		if users := w.Users(image.Owner.Key); !slices.Equal(users, []model.Key{machine.Owner.Key}) {
			t.Errorf("%s: the users of the image are %v", name, users)
		}
		next := deep(want)
		c.change(&next)
		before := len(next.Images)
		w.KeepCopies(&next)
		if kept := len(next.Images) > before; kept != c.kept {
			t.Errorf("%s: it is kept: %t, want %t", name, kept, c.kept)
		}
		if again := NewWanted(next); c.kept && !slices.Contains(again.Copies(image.Owner.Key), key) {
			t.Errorf("%s: what is wanted next doesn't know it", name)
		}
	}
	w := NewWanted(model.Desired{Set: "default"})
	for _, o := range []Object{asked, {Owner: image.Owner, On: "pve2"}} {
		if w.LeftOver(o); w.has(o.Owner.Key) {
			t.Errorf("a template of an image that nobody wants is wanted: %s", o.Owner.Key)
		}
	}
	if w.LeftOver(Object{Owner: image.Owner, LeftImage: &image}); !w.has(image.Owner.Key) {
		t.Error("an image that is left over isn't wanted to go")
	}
}
