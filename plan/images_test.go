package plan

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

// TestWhatImagesStandFor: templates by name, selector and VMID, ISO images, images of other namespaces, and such as are fetched.
func TestWhatImagesStandFor(t *testing.T) {
	type T = *testing.T
	type W = *world
	type D = *model.Desired
	only := func(d D, i model.Image) {
		i.Owner = testImage.Owner
		d.Images = []model.Image{i}
	}
	cloud := func(d D) *model.Image {
		i := fetched("cloud")
		d.Images = append(d.Images, i)
		d.VMs[0].Source.Image = i.Owner.Key
		return &d.Images[len(d.Images)-1]
	}
	made := func(w W) *model.Guest {
		for _, g := range w.Guests {
			if g.Name == "cloud" {
				return g
			}
		}
		panic("it isn't there")
	}
	situations(t, "images-of-all-kinds", []situation{
		{"an ISO image by its volume", func(_ T, w W, d D) { only(d, model.Image{ISO: "nfs:iso/first.iso"}); d.VMs = nil }},
		{"an ISO image by its name", func(_ T, w W, d D) { only(d, model.Image{ISO: "second.iso"}); d.VMs = nil }},
		{"an ISO image that isn't there", func(_ T, w W, d D) { only(d, model.Image{ISO: "third.iso"}); d.VMs = nil }},
		{"an ISO image that is to go", func(_ T, w W, d D) { only(d, model.Image{ISO: "first.iso", Deleted: true}); d.VMs = nil }},
		{"a VMID", func(_ T, w W, d D) { only(d, model.Image{VMID: 9001}) }},
		{"a VMID that isn't there", func(_ T, w W, d D) { only(d, model.Image{VMID: 777}) }},
		{"a VMID that isn't a template", func(_ T, w W, d D) { only(d, model.Image{VMID: 777}); w.plain(777, "x", "pve1") }},
		{"a VMID that has to be a template and isn't", func(_ T, w W, d D) { only(d, model.Image{VMID: 777, OnlyTemplate: true}); w.plain(777, "x", "pve1") }},
		{"a VMID that has to be a template", func(_ T, w W, d D) { only(d, model.Image{VMID: 9001, OnlyTemplate: true}) }},
		{"one that another namespace hasn't fetched yet", func(_ T, w W, d D) { only(d, model.Image{URL: "https://example.com/x", Lent: true}) }},
		{"one that another namespace has fetched elsewhere", func(_ T, w W, d D) { only(d, model.Image{URL: "https://example.com/x", Lent: true, VMID: 6100}) }},
		{"one that another namespace is said to have fetched", func(_ T, w W, d D) { only(d, model.Image{URL: "https://example.com/x", Lent: true, VMID: 9001}) }},
		{"one that another namespace has fetched", func(t T, w W, d D) {
			i := *cloud(d)
			w.settle(t, d)
			i.Lent, i.VMID = true, made(w).VMID
			d.Images[2] = i
			v := testVM("second")
			v.Source.Image, v.NICs[0].MAC = i.Owner.Key, ""
			d.VMs = append(d.VMs, v)
		}},
		{"one that another namespace has fetched, and isn't a template yet", func(t T, w W, d D) {
			i := *cloud(d)
			w.settle(t, d)
			i.Lent, i.VMID = true, made(w).VMID
			d.Images[2] = i
			made(w).Template = false
			v := testVM("second")
			v.Source.Image, v.NICs[0].MAC = i.Owner.Key, ""
			d.VMs = append(d.VMs, v)
		}},
		{"a template that another namespace has, by its name", func(_ T, w W, d D) { only(d, model.Image{Template: "ubuntu-22-template", Lent: true}) }},
		{"a name that no template has", func(_ T, w W, d D) { only(d, model.Image{Template: "none"}) }},
		{"a name that no template has, of one", func(_ T, w W, d D) { only(d, model.Image{Template: "none"}); delete(w.Guests, 9001) }},
		{"a name that no template has, of none", func(_ T, w W, d D) {
			only(d, model.Image{Template: "none"})
			delete(w.Guests, 9000)
			delete(w.Guests, 9001)
		}},
		{"a name that no template has, of ten", func(_ T, w W, d D) {
			only(d, model.Image{Template: "none"})
			for i := range 8 {
				w.template(9010+i, "t"+itoa(8-i), "pve1", "nfs")
			}
			w.template(9030, "t1", "pve2", "nfs")
			w.plain(777, "a", "pve1")
		}},
		{"a name that no template has, of nine", func(_ T, w W, d D) {
			only(d, model.Image{Template: "none"})
			for i := range 6 {
				w.template(9010+i, "t"+itoa(8-i), "pve1", "nfs")
			}
		}},
		{"a name that a guest has that is no template", func(_ T, w W, d D) { only(d, model.Image{Template: "x"}); w.plain(777, "x", "pve1") }},
		{"a name that a container has", func(_ T, w W, d D) {
			only(d, model.Image{Template: "x"})
			w.plain(777, "x", "pve1").Container = true
		}},
		{"a template that is locked", func(_ T, w W, d D) { w.Guests[9000].Lock = "clone" }},
		{"a template that is locked, and another that isn't selected", func(_ T, w W, d D) {
			only(d, model.Image{Template: "ubuntu-22-template", Pin: model.Pin{Nodes: []string{"pve2"}}})
			w.Guests[9000].Lock = "clone"
		}},
		{"a template that is selected and locked", func(_ T, w W, d D) {
			only(d, model.Image{Template: "ubuntu-22-template", Pin: model.Pin{Nodes: []string{"pve1"}}})
			w.Guests[9000].Lock = "clone"
		}},
		{"a guest of the name is locked that is no template", func(_ T, w W, d D) {
			g := w.plain(9000, "ubuntu-22-template", "pve1")
			g.Lock = "clone"
		}},
		{"a template by pool, tag, node and storage", func(_ T, w W, d D) {
			only(d, model.Image{Template: "ubuntu-22-template", Pin: model.Pin{Pool: "images", Tag: "golden", Nodes: []string{"pve1", "pve2"}, DiskStorage: "nfs"}})
			w.Guests[9000].Pool, w.Guests[9000].Tags = "images", []string{"golden"}
			w.template(9100, "ubuntu-22-template", "pve2", "local-lvm")
			w.Guests[9100].Pool, w.Guests[9100].Tags = "images", []string{"golden"}
			w.template(9101, "ubuntu-22-template", "pve3", "nfs")
		}},
		{"no template by pool, tag, node and storage", func(_ T, w W, d D) {
			only(d, model.Image{Template: "ubuntu-22-template", Pin: model.Pin{Pool: "images", Tag: "golden", Nodes: []string{"pve1", "pve2"}, DiskStorage: "rbd"}})
			w.Guests[9000].Pool, w.Guests[9000].Tags = "images", []string{"golden"}
		}},
		{"templates on two nodes, and one isn't finished", func(_ T, w W, d D) {
			w.template(9100, "ubuntu-22-template", "pve2", "nfs")
			w.Guests[9100].Config.Disks[0].Volume = "nfs:vm-9100-disk-0"
		}},
		{"a template that isn't finished", func(_ T, w W, d D) { w.Guests[9000].Config.Disks[0].Volume = "nfs:vm-9000-disk-0" }},
		{"a template that isn't finished, on a storage that isn't visible", func(_ T, w W, d D) {
			w.Guests[9000].Config.Disks[0].Volume, w.Guests[9000].Config.Disks[0].Storage = "hidden:vm-9000-disk-0", "hidden"
		}},
		{"a template that isn't finished, on a storage without base volumes", func(_ T, w W, d D) {
			w.storage("thick", "lvm", true, 100, "images", all3...)
			w.Guests[9000].Config.Disks[0].Volume, w.Guests[9000].Config.Disks[0].Storage = "thick:vm-9000-disk-0", "thick"
		}},
		{"templates on two nodes, and one is being made", func(_ T, w W, d D) {
			w.template(9100, "ubuntu-22-template", "pve2", "nfs")
			w.tasks = []model.Task{{UPID: "UPID:t", Type: "qmtemplate", VMID: 9000}}
		}},
		{"templates on two nodes that aren't alike", func(_ T, w W, d D) {
			w.template(9100, "ubuntu-22-template", "pve2", "nfs")
			w.Guests[9100].Config.Disks[0].Size *= 2
		}},
		{"templates on two nodes with different systems", func(_ T, w W, d D) {
			w.template(9100, "ubuntu-22-template", "pve2", "nfs")
			w.Guests[9100].Config.Options["ostype"], w.Guests[9100].Config.Options["bios"] = "win11", "ovmf"
		}},
		{"two templates on one node", func(_ T, w W, d D) { w.template(9100, "ubuntu-22-template", "pve1", "nfs") }},
		{"three templates on one node, one elsewhere", func(_ T, w W, d D) {
			w.template(9100, "ubuntu-22-template", "pve2", "nfs")
			w.template(9101, "ubuntu-22-template", "pve1", "nfs")
			w.template(9102, "ubuntu-22-template", "pve1", "nfs")
		}},
		{"another template of the name than before", func(t T, w W, d D) {
			w.settle(t, d)
			delete(w.Guests, 9000)
			w.template(9100, "ubuntu-22-template", "pve1", "nfs")
			for _, name := range []string{"second", "third"} {
				v := testVM(name)
				v.NICs[0].MAC = ""
				d.VMs = append(d.VMs, v)
			}
		}},
		{"another template of the name than before, of several", func(t T, w W, d D) {
			v := testVM("second")
			v.NICs[0].MAC = ""
			d.VMs = append(d.VMs, v)
			w.settle(t, d)
			w.guest("second").Config.Marker.From = 8000
			delete(w.Guests, 9000)
			w.template(9100, "ubuntu-22-template", "pve1", "nfs")
			third, fourth := testVM("third"), testVM("fourth")
			third.NICs[0].MAC, fourth.NICs[0].MAC, fourth.Source.Image.Name = "", "", "other"
			d.VMs = append(d.VMs, third, fourth)
		}},
		{"another template of the name than before, and the first one goes", func(t T, w W, d D) {
			w.settle(t, d)
			d.VMs[0].Deleted = true
			delete(w.Guests, 9000)
			w.template(9100, "ubuntu-22-template", "pve1", "nfs")
			v := testVM("second")
			v.NICs[0].MAC = ""
			d.VMs = append(d.VMs, v)
		}},
		{"another template of the name than before, which the first one doesn't know", func(t T, w W, d D) {
			w.settle(t, d)
			w.guest("web").Config.Marker.From = 0
			delete(w.Guests, 9000)
			w.template(9100, "ubuntu-22-template", "pve1", "nfs")
			v := testVM("second")
			v.NICs[0].MAC = ""
			d.VMs = append(d.VMs, v)
		}},
		{"another template of the name than before, by a glance", func(t T, w W, d D) {
			w.settle(t, d)
			delete(w.Guests, 9000)
			w.template(9100, "ubuntu-22-template", "pve1", "nfs")
			v := testVM("second")
			v.NICs[0].MAC = ""
			d.VMs, d.Quick = append(d.VMs, v), true
		}},
		{"fetched", func(_ T, w W, d D) { cloud(d) }},
		{"fetched, of an unknown kind", func(_ T, w W, d D) { cloud(d).URL = "https://example.com/cloud.img?x=1.qcow2" }},
		{"fetched, in raw", func(_ T, w W, d D) { cloud(d).URL = "https://example.com/cloud.RAW" }},
		{"fetched, of an address with a name and a password", func(_ T, w W, d D) { cloud(d).URL = "https://me:secret@example.com/cloud.qcow2" }},
		{"fetched onto a storage", func(_ T, w W, d D) { cloud(d).Storage = "local-lvm" }},
		{"fetched onto a storage that isn't there", func(_ T, w W, d D) { cloud(d).Storage = "none" }},
		{"fetched onto a storage that isn't visible", func(_ T, w W, d D) { cloud(d).Storage = "none"; w.without("/storage/none") }},
		{"fetched onto a storage of one node", func(_ T, w W, d D) {
			w.storage("fast", "dir", false, 100, "images", "pve3")
			cloud(d).Storage = "fast"
		}},
		{"fetched onto a storage of one node, which is off", func(_ T, w W, d D) {
			w.storage("fast", "dir", false, 100, "images", "pve3")
			cloud(d).Storage, w.Nodes["pve3"].Online = "fast", false
		}},
		{"fetched onto a storage that was just added", func(_ T, w W, d D) {
			w.storage("fast", "dir", false, 100, "images").Late = map[string]bool{"pve2": true}
			cloud(d).Storage = "fast"
		}},
		{"fetched where a storage for images was just added", func(_ T, w W, d D) {
			w.storage("files", "dir", false, 100, "import").Late = map[string]bool{"pve2": true}
			cloud(d)
			w.Storages["nfs"].Content = map[string]bool{"images": true}
		}},
		{"fetched where another storage was just added", func(_ T, w W, d D) {
			w.storage("files", "dir", false, 100, "images").Late = map[string]bool{"pve2": true}
			cloud(d)
			w.Storages["nfs"].Content = map[string]bool{"images": true}
		}},
		{"fetched where one of two storages may be used", func(_ T, w W, d D) {
			w.storage("files", "dir", true, 100, "import", all3...)
			w.without("/storage/files")
			cloud(d)
		}},
		{"fetched where no storage may be used", func(_ T, w W, d D) { w.without("/storage/nfs"); cloud(d) }},
		{"fetched where no storage may have disks", func(_ T, w W, d D) {
			w.without("/storage/nfs", mayFetch)
			w.without("/storage/local-lvm", mayFetch)
			cloud(d)
		}},
		{"fetched where the VMID is hidden", func(_ T, w W, d D) {
			cloud(d)
			for id := range versioned(d.Images[2]).Candidates(d.Images[2].Range) {
				w.hidden = map[int]bool{id: true}
				break
			}
		}},
		{"fetched after a failure", func(_ T, w W, d D) {
			cloud(d)
			w.fails = map[Key]model.Failure{d.Images[2].Owner.Key: {What: "fetch", Text: "no", Hard: true}}
		}},
		{"fetched, and somebody else's guest is under its VMID", func(_ T, w W, d D) {
			cloud(d)
			for id := range versioned(d.Images[2]).Candidates(d.Images[2].Range) {
				w.plain(id, "theirs", "pve1")
				break
			}
		}},
		{"fetched, and no VMID is left", func(_ T, w W, d D) {
			cloud(d).Range = model.Range{First: 6000, Last: 6000}
			w.plain(6000, "theirs", "pve1")
		}},
		{"two are fetched that would have one VMID", func(_ T, w W, d D) {
			second := *cloud(d)
			second.Owner.Name = "second"
			d.Images[2].Range = model.Range{First: 6000, Last: 6000}
			second.Range = d.Images[2].Range
			d.Images = append(d.Images, second)
		}},
		{"fetched by half", func(_ T, w W, d D) { cloud(d); w.turns(d, 1) }},
		{"fetched by half, and its template isn't one yet", func(_ T, w W, d D) { cloud(d); w.turns(d, 2) }},
		{"its template was made by half", func(t T, w W, d D) {
			cloud(d)
			w.turns(d, 3)
			made(w).Config.Disks[0].Volume = "nfs:vm-6000-disk-0"
			made(w).Config.Disks = append(made(w).Config.Disks, model.Disk{Slot: "efidisk0", Volume: "nfs:vm-6000-disk-1", Storage: "nfs"})
		}},
		{"its template is on another storage than is wanted now", func(t T, w W, d D) { cloud(d); w.settle(t, d); d.Images[2].Storage = "local-lvm" }},
		{"its template has another machine, which is the same", func(t T, w W, d D) {
			cloud(d)
			w.settle(t, d)
			made(w).Config.Options["machine"] = "pc-q35-9.2"
		}},
		{"its template has other options", func(t T, w W, d D) {
			cloud(d)
			w.settle(t, d)
			made(w).Config.Options["machine"], made(w).Config.Options["bios"] = "pc-i440fx-9.2", "pc-q35-9"
			made(w).Config.Disks = nil
		}},
		{"its template is being destroyed", func(t T, w W, d D) {
			cloud(d)
			w.settle(t, d)
			w.tasks = []model.Task{{UPID: "UPID:d", Type: "qmdestroy", VMID: made(w).VMID}}
		}},
		{"the machine is to be a full copy, of one that is to be fetched", func(t T, w W, d D) {
			cloud(d)
			d.VMs[0].Source.Full, d.VMs[0].Source.Storage = true, "local-lvm"
			d.VMs[0].Disks = append(d.VMs[0].Disks, model.Disk{Slot: "scsi1", Size: 1 << 30}, model.Disk{Slot: "scsi2", Storage: "nfs", Size: 1 << 30},
				model.Disk{Slot: "ide0", Volume: "nfs:iso/first.iso", CDROM: true})
			v := testVM("copy")
			v.NICs[0].MAC, v.Source = "", model.Source{VM: d.VMs[0].Owner.Key}
			third := testVM("third")
			third.NICs[0].MAC, third.Source = "", model.Source{VM: v.Owner.Key}
			d.VMs = append(d.VMs, v, third)
		}},
		{"the machine is to be made of one whose template isn't finished", func(t T, w W, d D) {
			cloud(d)
			w.turns(d, 2)
			made(w).Config.Disks = append(made(w).Config.Disks, model.Disk{Slot: "ide0", Volume: "none", CDROM: true})
		}},
		{"an implied template that isn't there, and all are made", func(t T, w W, d D) {
			w.settle(t, d)
			d.Images[0].Implied = true
			delete(w.Guests, 9000)
		}},
		{"an implied template that isn't there, and one isn't made", func(t T, w W, d D) {
			w.settle(t, d)
			d.Images[0].Implied = true
			delete(w.Guests, 9000)
			v := testVM("second")
			v.NICs[0].MAC = ""
			d.VMs = append(d.VMs, v)
		}},
		{"an implied template that isn't there, and the one that isn't made is to go", func(t T, w W, d D) {
			w.settle(t, d)
			d.Images[0].Implied = true
			delete(w.Guests, 9000)
			v := testVM("second")
			v.NICs[0].MAC, v.Deleted = "", true
			d.VMs = append(d.VMs, v)
		}},
		{"an implied template that is there", func(t T, w W, d D) { w.settle(t, d); d.Images[0].Implied = true }},
		{"an image is held", func(t T, w W, d D) { cloud(d).Hold = model.Hold{Reason: "Paused", Text: "it is paused"} }},
	})
}

// TestTemplatesOfAName: what other parts of the program are told of the templates that a name stands for.
func TestTemplatesOfAName(t *testing.T) {
	w := newWorld()
	w.template(9100, "two", "pve1", "nfs")
	w.template(9101, "two", "pve1", "nfs")
	have := w.observe(Look{})
	for _, c := range []struct {
		image model.Image
		count int
		why   bool
	}{
		{model.Image{Template: "ubuntu-22-template"}, 1, false},
		{model.Image{Template: "none"}, 0, true},
		{model.Image{Template: "two"}, 0, true},
		{model.Image{Template: "two", Pin: model.Pin{DiskStorage: "nfs"}}, 2, false}, // their configs tell which
	} {
		list, why := Templates(c.image, have)
		if len(list) != c.count || (why != "") != c.why {
			t.Errorf("%+v: %d templates, %q", c.image, len(list), why)
		}
	}
}
