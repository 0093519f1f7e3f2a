package plan

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

// storage adds a storage that some nodes have, all with that much room in GiB.
func (w *world) storage(name, kind string, shared bool, gib int64, content string, nodes ...string) *model.Storage {
	s := &model.Storage{Name: name, Type: kind, Shared: shared, Content: map[string]bool{content: true}, OnNode: map[string]model.Room{}, Late: map[string]bool{}}
	for _, n := range nodes {
		s.OnNode[n] = model.Room{Total: gib << 30}
	}
	w.Storages[name] = s
	return s
}

// without takes privileges away that the credentials would have on a path.
func (w *world) without(path string, left ...string) {
	before := w.also
	w.also = func(o *model.Observed) {
		if before != nil {
			before(o)
		}
		if _, asked := o.Rights[path]; asked {
			o.Rights[path] = map[string]bool{"Sys.Audit": true}
			for _, priv := range left {
				o.Rights[path][priv] = true
			}
		}
	}
}

// seeing changes what is observed.
func (w *world) seeing(change func(*model.Observed)) {
	before := w.also
	w.also = func(o *model.Observed) {
		if before != nil {
			before(o)
		}
		change(o)
	}
}

// fetched is an image that is fetched from a URL.
func fetched(name string) model.Image {
	return model.Image{
		Owner: owner("VMImage", name), URL: "https://example.com/" + name + ".qcow2", Checksum: "aa", ChecksumAlgorithm: "sha256",
		Options: map[string]string{"bios": "seabios", "machine": "q35"}, Range: model.Range{First: 6000, Last: 6999},
	}
}

var all3 = []string{"pve1", "pve2", "pve3"}

// TestWhatNewMachinesLack: storages, pools, rights, bridges and nodes that aren't there, are full, or may not be used.
func TestWhatNewMachinesLack(t *testing.T) {
	type T = *testing.T
	type W = *world
	type D = *model.Desired
	extra := func(storage string) model.Disk { return model.Disk{Slot: "scsi1", Storage: storage, Size: 20 << 30} }
	situations(t, "lacking", []situation{
		{"plain", func(T, W, D) {}},
		{"a further disk on a storage that was just added", func(_ T, w W, d D) {
			w.storage("new", "dir", false, 100, "images", "pve1").Late = map[string]bool{"pve2": true, "pve3": true}
			d.VMs[0].Disks = append(d.VMs[0].Disks, extra("new"))
		}},
		{"a further disk on thin storage that has no room", func(_ T, w W, d D) {
			w.storage("thin", "dir", true, 10, "images", all3...)
			d.VMs[0].Disks = append(d.VMs[0].Disks, extra("thin"))
		}},
		{"a further disk on thin storage whose room isn't known", func(_ T, w W, d D) {
			w.storage("thin", "dir", true, 0, "images", all3...)
			d.VMs[0].Disks = append(d.VMs[0].Disks, extra("thin"))
		}},
		{"a further disk on thin storage that has just enough", func(_ T, w W, d D) {
			w.storage("thin", "dir", true, 20, "images", all3...)
			d.VMs[0].Disks = append(d.VMs[0].Disks, extra("thin"))
		}},
		{"a further disk on thick storages that have no room", func(_ T, w W, d D) {
			for i, kind := range []string{"lvm", "iscsi", "iscsidirect"} {
				w.storage(kind, kind, false, 10, "images", all3[i])
				v := testVM(kind)
				v.NICs[0].MAC, v.Place.Nodes, v.Disks = "", []string{all3[i]}, append(v.Disks, extra(kind))
				d.VMs = append(d.VMs, v)
			}
		}},
		{"a further disk on thick storage with just enough room", func(_ T, w W, d D) {
			w.storage("thick", "lvm", true, 20, "images", all3...)
			d.VMs[0].Disks = append(d.VMs[0].Disks, extra("thick"))
		}},
		{"further disks on one storage have to fit together", func(_ T, w W, d D) {
			w.storage("thick", "lvm", true, 30, "images", all3...)
			second := extra("thick")
			second.Slot = "scsi2"
			d.VMs[0].Disks = append(d.VMs[0].Disks, extra("thick"), second)
		}},
		{"a full copy, with a further disk beside it, onto thick storage", func(_ T, w W, d D) {
			w.storage("thick", "lvm", true, 27, "images", all3...)
			d.VMs[0].Source.Full, d.VMs[0].Source.Storage = true, "thick"
			d.VMs[0].Disks = append(d.VMs[0].Disks, extra(""))
		}},
		{"a full copy beside its image on thick storage", func(_ T, w W, d D) {
			w.storage("thick", "lvm", true, 27, "images", all3...)
			w.template(9000, "ubuntu-22-template", "pve1", "thick")
			d.VMs[0].Source.Full = true
			d.VMs[0].Disks = append(d.VMs[0].Disks, extra(""))
		}},
		{"a full copy onto thick storage that has room for its image, and not for what it grows to", func(_ T, w W, d D) {
			w.storage("thick", "lvm", true, 27, "images", all3...)
			d.VMs[0].Source.Full, d.VMs[0].Source.Storage = true, "thick"
			d.VMs[0].Disks = []model.Disk{{Slot: model.RootSlot, Size: 28 << 30}}
		}},
		{"a full copy onto thick storage that has just enough for what it grows to", func(_ T, w W, d D) {
			w.storage("thick", "lvm", true, 28, "images", all3...)
			d.VMs[0].Source.Full, d.VMs[0].Source.Storage = true, "thick"
			d.VMs[0].Disks = []model.Disk{{Slot: model.RootSlot, Size: 28 << 30}}
		}},
		{"a template on storage that has no base volumes is copied", func(_ T, w W, _ D) {
			w.storage("thick", "lvm", true, 100, "images", all3...)
			w.template(9000, "ubuntu-22-template", "pve1", "thick")
		}},
		{"a template with a drive and a cloud-init drive on storage without base volumes", func(_ T, w W, _ D) {
			w.storage("thick", "lvm", true, 100, "images", all3...)
			c := w.Guests[9000].Config
			c.Disks = append(c.Disks, model.Disk{Slot: "ide2", Volume: "thick:vm-9000-cloudinit", Storage: "thick", CDROM: true, CloudInit: true},
				model.Disk{Slot: "ide0", Volume: "none", CDROM: true})
		}},
		{"a template whose storage isn't visible", func(_ T, w W, _ D) {
			w.template(9000, "ubuntu-22-template", "pve1", "hidden")
		}},
		{"a template whose storage isn't visible, on the only node", func(_ T, w W, d D) {
			w.template(9000, "ubuntu-22-template", "pve1", "hidden")
			d.VMs[0].Place.Nodes = []string{"pve1"}
		}},
		{"a raw root disk from an image in qcow2", func(_ T, w W, d D) {
			w.Guests[9000].Config.Disks[0].Format = "qcow2"
			d.VMs[0].Disks[0].Format = "raw"
		}},
		{"a raw root disk from an image in raw", func(_ T, w W, d D) {
			w.Guests[9000].Config.Disks[0].Format = "raw"
			d.VMs[0].Disks[0].Format = "raw"
		}},
		{"a raw root disk from an image on block storage", func(_ T, w W, d D) {
			w.storage("rbd", "rbd", true, 1000, "images", all3...)
			w.template(9000, "ubuntu-22-template", "pve1", "rbd")
			d.VMs[0].Disks[0].Format = "raw"
		}},
		{"a raw root disk from an image without a disk", func(_ T, w W, d D) {
			w.Guests[9000].Config.Disks = nil
			d.VMs[0].Disks[0].Format = "raw"
		}},
		{"a raw root disk from an image whose storage isn't visible", func(_ T, w W, d D) {
			w.template(9000, "ubuntu-22-template", "pve1", "hidden")
			d.VMs[0].Disks[0].Format, d.VMs[0].Place.Nodes = "raw", []string{"pve1"}
		}},
		{"a copy across nodes onto the storage of the image", func(_ T, _ W, d D) {
			d.VMs[0].Source.Full, d.VMs[0].Source.Storage, d.VMs[0].Place.Nodes = true, "nfs", []string{"pve2"}
		}},
		{"a copy across nodes of an image on a node that is unknown", func(_ T, w W, d D) {
			w.Guests[9000].Node = "pve9"
		}},
		{"a full copy across nodes onto a storage that isn't visible", func(_ T, w W, d D) {
			d.VMs[0].Source.Full, d.VMs[0].Source.Storage, d.VMs[0].Place.Nodes = true, "nowhere", []string{"pve2"}
			w.without("/storage/nowhere")
		}},
		{"a storage that isn't visible, for a further disk", func(_ T, w W, d D) {
			d.VMs[0].Disks = append(d.VMs[0].Disks, extra("nowhere"))
			w.without("/storage/nowhere")
		}},
		{"a storage that would be visible to those who may make disks there", func(_ T, w W, d D) {
			d.VMs[0].Disks = append(d.VMs[0].Disks, extra("nowhere"))
			w.without("/storage/nowhere", "Datastore.AllocateSpace")
		}},
		{"a storage of which nobody says what it is for", func(_ T, w W, d D) {
			w.storage("mute", "dir", true, 1000, "images", all3...).Content = nil
			d.VMs[0].Disks = append(d.VMs[0].Disks, extra("mute"))
		}},
		{"a storage for disks, named for a drive", func(_ T, w W, d D) {
			d.VMs[0].Disks = append(d.VMs[0].Disks, model.Disk{Slot: "ide0", Volume: "local-lvm:iso/x.iso", CDROM: true})
		}},
		{"an empty drive and a drive without anything said", func(_ T, w W, d D) {
			d.VMs[0].Disks = append(d.VMs[0].Disks, model.Disk{Slot: "ide0", Volume: "none", CDROM: true}, model.Disk{Slot: "ide1", CDROM: true, Storage: "nfs"})
		}},
		{"a disk by its volume, on a storage that isn't for disks", func(_ T, w W, d D) {
			w.storage("isos", "dir", true, 1000, "iso", all3...)
			d.VMs[0].Disks = append(d.VMs[0].Disks, model.Disk{Slot: "scsi1", Volume: "isos:vm-1-disk-0", Storage: "isos"})
		}},
		{"from nothing, where one storage may be used", func(_ T, w W, d D) {
			d.VMs[0].Source, d.VMs[0].Disks[0].Size = model.Source{Blank: true}, 1<<30
			w.without("/storage/nfs")
		}},
		{"from nothing, where no storage may be used", func(_ T, w W, d D) {
			d.VMs[0].Source, d.VMs[0].Place.Nodes = model.Source{Blank: true}, []string{"pve1"}
			w.without("/storage/nfs")
			w.without("/storage/local-lvm")
		}},
		{"from nothing, where no storage takes disks", func(_ T, w W, d D) {
			d.VMs[0].Source, d.VMs[0].Place.Nodes = model.Source{Blank: true}, []string{"pve1"}
			delete(w.Storages, "local-lvm")
			w.Storages["nfs"].Content = map[string]bool{"iso": true}
		}},
		{"from nothing, where no storage takes disks but one that was just added", func(_ T, w W, d D) {
			d.VMs[0].Source, d.VMs[0].Place.Nodes = model.Source{Blank: true}, []string{"pve1"}
			delete(w.Storages, "local-lvm")
			w.Storages["nfs"].Content = map[string]bool{"iso": true}
			w.storage("b", "dir", false, 0, "images").Late = map[string]bool{"pve1": true}
			w.storage("a", "dir", false, 0, "images").Late = map[string]bool{"pve1": true}
			w.storage("c", "dir", false, 0, "iso").Late = map[string]bool{"pve2": true}
		}},
		{"from nothing, with a disk by its volume alone", func(_ T, w W, d D) {
			d.VMs[0].Source = model.Source{Blank: true}
			d.VMs[0].Disks = []model.Disk{{Slot: "ide0", Volume: "nfs:iso/first.iso", CDROM: true}}
		}},
		{"from nothing, with firmware in files", func(_ T, w W, d D) {
			d.VMs[0].Source = model.Source{Blank: true}
			d.VMs[0].Disks = append(d.VMs[0].Disks, model.Disk{Slot: "efidisk0", Storage: "nfs"}, model.Disk{Slot: "tpmstate0", Storage: "nfs"},
				model.Disk{Slot: "scsi3", Storage: "nfs", Format: "raw", Size: 1 << 30})
		}},
		{"a pool that is there, and one that isn't", func(_ T, w W, d D) {
			w.seeing(func(o *model.Observed) { o.Pools = map[string]bool{"team": true} })
			v := testVM("second")
			d.VMs[0].Pool, v.Pool, v.NICs[0].MAC = "team", "none", ""
			d.VMs = append(d.VMs, v)
		}},
		{"a pool that isn't visible", func(_ T, w W, d D) {
			w.seeing(func(o *model.Observed) { o.Pools = map[string]bool{} })
			w.without("/pool/none")
			d.VMs[0].Pool = "none"
		}},
		{"a group of HA that isn't there, on a release with groups", func(_ T, w W, d D) {
			w.seeing(func(o *model.Observed) { o.Release = 8 })
			d.VMs[0].HA = &model.HA{Group: "none"}
		}},
		{"a group of HA on a release with groups", func(_ T, w W, d D) {
			w.seeing(func(o *model.Observed) { o.Release = 8 })
			d.VMs[0].HA = &model.HA{Group: "fast"}
		}},
		{"groups of HA can't be listed", func(_ T, w W, d D) {
			w.seeing(func(o *model.Observed) { o.HAGroups = nil })
			d.VMs[0].HA = &model.HA{Group: "none"}
		}},
		{"mappings that Proxmox doesn't tell", func(_ T, w W, d D) {
			w.seeing(func(o *model.Observed) {
				for kind := range o.Mappings {
					o.Mappings[kind] = nil
				}
			})
			d.VMs[0].Options["hostpci0"], d.VMs[0].Options["usb1"] = "mapping=none", "host=1-2"
		}},
		{"a mapping that isn't visible", func(_ T, w W, d D) {
			w.without("/mapping/usb/none")
			d.VMs[0].Options["usb0"] = "usb3=1,mapping=none"
		}},
		{"bridges that a node doesn't tell", func(_ T, w W, d D) {
			w.seeing(func(o *model.Observed) {
				for node := range o.Bridges {
					o.Bridges[node] = nil
				}
			})
			d.VMs[0].NICs[0].Bridge = "vmbr77"
		}},
		{"a bridge that isn't visible", func(_ T, w W, d D) {
			w.without("/sdn/zones/localnetwork/vmbr77")
			d.VMs[0].NICs[0].Bridge = "vmbr77"
		}},
		{"two interfaces on one bridge, and one on none", func(_ T, w W, d D) {
			d.VMs[0].NICs = append(d.VMs[0].NICs, model.NIC{Slot: "net1", Model: "virtio", Bridge: "vmbr0"}, model.NIC{Slot: "net2", Model: "virtio"})
		}},
		{"no nodes can be seen at all", func(_ T, w W, d D) { w.Nodes = map[string]*model.Node{} }},
		{"a root disk without a size", func(_ T, w W, d D) { d.VMs[0].Disks[0].Size = 0 }},
		{"an image without a disk that it boots from", func(_ T, w W, d D) { w.Guests[9000].Config.Disks = nil }},
		{"the node of the hook isn't in the cluster", func(_ T, w W, d D) {
			d.VMs[0].Scripts, d.VMs[0].Place.Nodes = []string{"nfs:snippets/" + hookScript}, []string{"pve9"}
			w.Root = true
		}},
		{"the hook isn't there", func(_ T, w W, d D) {
			d.VMs[0].Scripts, w.Root = []string{"local:snippets/" + hookScript}, true
			w.storage("local", "dir", false, 100, "snippets", all3...)
		}},
		{"the hook is there, and another script isn't", func(_ T, w W, d D) {
			d.VMs[0].Scripts, w.Root = []string{"nfs:snippets/" + hookScript, "nfs:snippets/x.sh"}, true
			w.snippet("nfs:snippets/"+hookScript, "pve1")
		}},
	})
}
