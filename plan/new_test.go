package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// newCase is a guest that isn't there yet, in a world that is a little otherwise.
type newCase struct {
	name string
	do   func(w *world, v *model.VM)
}

func newCases() []newCase {
	room := func(w *world, storage string, gib int64) {
		s := *w.Storages[storage]
		s.OnNode = map[string]model.Room{"pve1": {Total: 100 << 30, Used: (100 - gib) << 30}, "pve2": {Total: 100 << 30}}
		w.Storages[storage] = &s
	}
	local := func(w *world) { w.template(9000, "ubuntu-22-template", "pve2", "local-lvm") }
	return []newCase{
		{"plain", func(*world, *model.VM) {}},
		{"off", func(_ *world, v *model.VM) { v.Power = model.PowerOff }},
		{"under HA", func(_ *world, v *model.VM) { v.HA = &model.HA{} }},
		{"under HA and off", func(_ *world, v *model.VM) { v.HA, v.Power = &model.HA{}, model.PowerOff }},
		{"under HA by a rule", func(_ *world, v *model.VM) { v.HA = &model.HA{Group: "fast", MaxRestart: 2} }},
		{"in a pool, with tags and notes", func(_ *world, v *model.VM) { v.Pool, v.Tags, v.Description = "team", []string{"b", "a"}, "notes" }},
		{"a full copy", func(_ *world, v *model.VM) { v.Source.Full = true }},
		{"a full copy onto another storage", func(_ *world, v *model.VM) {
			v.Source.Full, v.Source.Storage, v.Disks[0].Format = true, "local-lvm", "raw"
		}},
		{"a full copy onto a storage that isn't there", func(_ *world, v *model.VM) { v.Source.Full, v.Source.Storage = true, "nowhere" }},
		{"a full copy across nodes onto a local storage", func(w *world, v *model.VM) {
			v.Source.Full, v.Source.Storage, v.Place.Nodes = true, "local-lvm", []string{"pve3"}
		}},
		{"a root disk as large as the image's", func(_ *world, v *model.VM) { v.Disks[0].Size = 8 << 30 }},
		{"a root disk smaller than the image's", func(_ *world, v *model.VM) { v.Disks[0].Size = 4 << 30 }},
		{"no root disk is spoken of", func(_ *world, v *model.VM) { v.Disks = nil }},
		{"further disks and a drive", func(_ *world, v *model.VM) {
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Size: 1<<30 + 1}, model.Disk{Slot: "scsi2", Storage: "local-lvm", Size: 1 << 30},
				model.Disk{Slot: "efidisk0", Storage: "nfs"}, model.Disk{Slot: "ide0", Volume: "nfs:iso/first.iso", CDROM: true})
		}},
		{"an ISO image that isn't there", func(w *world, v *model.VM) {
			delete(w.Files, "nfs:iso/first.iso")
			v.Disks = append(v.Disks, model.Disk{Slot: "ide0", Volume: "nfs:iso/first.iso", CDROM: true})
		}},
		{"from nothing", func(_ *world, v *model.VM) { v.Source = model.Source{Blank: true} }},
		{"from nothing, with everything", func(_ *world, v *model.VM) {
			v.Source, v.Pool, v.Tags, v.HA, v.Seed = model.Source{Blank: true}, "team", []string{"x"}, &model.HA{Group: "fast"}, &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"}
			v.Disks[0].Size, v.Disks[0].Storage = 1<<30+1, "local-lvm"
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Size: 1 << 30}, model.Disk{Slot: "ide0", Volume: "nfs:iso/first.iso", CDROM: true})
		}},
		{"from an image that isn't declared", func(_ *world, v *model.VM) { v.Source.Image.Name = "nowhere" }},
		{"from a guest that isn't declared", func(_ *world, v *model.VM) { v.Source = model.Source{VM: Key{Kind: "VirtualMachine", Name: "nobody"}} }},
		{"with first-boot data", func(_ *world, v *model.VM) { v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"} }},
		{"with first-boot data and no storage for it", func(_ *world, v *model.VM) { v.Seed = &model.Seed{Digest: "aaaaaaaaaaaaaaaa"} }},
		{"with first-boot data on a storage that takes none", func(_ *world, v *model.VM) { v.Seed = &model.Seed{Storage: "local-lvm", Digest: "aaaaaaaaaaaaaaaa"} }},
		{"the template is local", func(w *world, _ *model.VM) { local(w) }},
		{"the template is local, and the guest may not be there", func(w *world, v *model.VM) { local(w); v.Place.Nodes = []string{"pve1", "pve3"} }},
		{"the template's node is off", func(w *world, _ *model.VM) { local(w); w.Nodes["pve2"].Online = false }},
		{"the shared template's node is off", func(w *world, _ *model.VM) { w.Nodes["pve1"].Online = false }},
		{"the template is locked", func(w *world, _ *model.VM) { w.Guests[9000].Lock = "clone" }},
		{"the template isn't one any more", func(w *world, _ *model.VM) { w.Guests[9000].Template = false }},
		{"the template is gone", func(w *world, _ *model.VM) { delete(w.Guests, 9000) }},
		{"two templates on one node", func(w *world, _ *model.VM) { w.template(9005, "ubuntu-22-template", "pve1", "nfs") }},
		{"templates on two nodes", func(w *world, _ *model.VM) { w.template(9005, "ubuntu-22-template", "pve2", "local-lvm") }},
		{"all nodes are off", func(w *world, _ *model.VM) {
			for _, n := range w.Nodes {
				n.Online = false
			}
		}},
		{"nodes that aren't in the cluster", func(_ *world, v *model.VM) { v.Place.Nodes = []string{"pve8", "pve9"} }},
		{"one node that isn't in the cluster", func(_ *world, v *model.VM) { v.Place.Nodes = []string{"pve3", "pve9"} }},
		{"nodes with too few CPUs", func(w *world, _ *model.VM) { w.Nodes["pve1"].CPUs, w.Nodes["pve2"].CPUs = 3, 4 }},
		{"nodes whose CPUs aren't known", func(w *world, _ *model.VM) { w.Nodes["pve1"].CPUs = 0 }},
		{"more CPUs than any node has", func(_ *world, v *model.VM) { v.Options["cores"] = "17" }},
		{"sockets count", func(_ *world, v *model.VM) { v.Options["sockets"] = "5" }},
		{"nodes whose memory isn't known", func(w *world, _ *model.VM) { w.Nodes["pve3"].Memory = 0 }},
		{"nodes with just enough memory", func(w *world, _ *model.VM) {
			w.Nodes["pve1"].Used, w.Nodes["pve2"].Used, w.Nodes["pve3"].Used = 61<<30, 60<<30, 63<<30
		}},
		{"no node with enough memory now", func(w *world, _ *model.VM) {
			for _, n := range w.Nodes {
				n.Used = 63 << 30
			}
		}},
		{"as much memory as the image", func(w *world, v *model.VM) {
			delete(v.Options, "memory")
			w.Nodes["pve1"].Used, w.Nodes["pve2"].Used, w.Nodes["pve3"].Used = 62<<30+1, 62<<30, 63<<30
		}},
		{"memory that is to stay free", func(w *world, v *model.VM) { v.Place.MinFree = 58 << 30 }},
		{"at most one a node", func(w *world, v *model.VM) {
			v.Place.MaxPerNode = 1
			w.template(777, "x", "pve1", "nfs")
			w.Guests[777].Template = false
		}},
		{"a storage without room", func(w *world, v *model.VM) { room(w, "nfs", 1) }},
		{"a storage with just enough room", func(w *world, v *model.VM) { room(w, "nfs", 40) }},
		{"a further disk without room", func(w *world, v *model.VM) {
			room(w, "local-lvm", 1)
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Storage: "local-lvm", Size: 2 << 30})
		}},
		{"a storage that isn't there", func(_ *world, v *model.VM) {
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Storage: "nowhere", Size: 2 << 30})
		}},
		{"a storage that takes no disks", func(w *world, v *model.VM) {
			w.Storages["isos"] = &model.Storage{Name: "isos", Type: "nfs", Shared: true, Content: map[string]bool{"iso": true}, OnNode: w.Storages["nfs"].OnNode}
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Storage: "isos", Size: 2 << 30})
		}},
		{"a format that the storage can't have", func(_ *world, v *model.VM) {
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Storage: "local-lvm", Size: 2 << 30, Format: "qcow2"})
		}},
		{"a bridge that isn't there", func(_ *world, v *model.VM) { v.NICs[0].Bridge = "vmbr77" }},
		{"its VMID is named", func(_ *world, v *model.VM) { v.VMID = 5900 }},
		{"its VMID is named, and hidden", func(w *world, v *model.VM) { v.VMID, w.hidden = 5900, map[int]bool{5900: true} }},
		{"its VMID is written down", func(_ *world, v *model.VM) { v.Remembered = 5900 }},
		{"its VMID is written down, and hidden", func(w *world, v *model.VM) { v.Remembered, w.hidden = 5900, map[int]bool{5900: true} }},
		{"no VMID is left", func(w *world, v *model.VM) {
			v.Range = model.Range{First: 5000, Last: 5000}
			w.template(5000, "x", "pve1", "nfs")
		}},
		{"what only root may set", func(_ *world, v *model.VM) { v.Options["args"], v.RootFor = "-x", []string{"spec.args"} }},
		{"what only root may set, by root", func(w *world, v *model.VM) { w.Root, v.Options["args"], v.RootFor = true, "-x", []string{"spec.args"} }},
		{"with a script that isn't there", func(_ *world, v *model.VM) {
			v.Scripts, v.Options["hookscript"] = []string{"nfs:snippets/x.sh"}, "nfs:snippets/x.sh"
		}},
		{"with a mapping that isn't there", func(_ *world, v *model.VM) { v.Options["hostpci0"] = "mapping=none" }},
		{"with a mapping", func(_ *world, v *model.VM) { v.Options["hostpci0"] = "mapping=gpu" }},
		{"with a share that isn't there", func(_ *world, v *model.VM) { v.Shares, v.Options["virtiofs0"] = []string{"data"}, "dirid=data" }},
		{"its MAC address is that of a guest that runs", func(w *world, v *model.VM) {
			w.template(777, "web", "pve1", "nfs")
			g := w.Guests[777]
			g.Template, g.Status, g.Config.NICs[0].MAC = false, model.StatusRunning, v.NICs[0].MAC
		}},
		{"a namesake is there", func(w *world, v *model.VM) {
			w.template(777, "web", "pve1", "nfs")
			w.Guests[777].Template = false
		}},
		{"a failure just now", func(w *world, v *model.VM) {
			w.fails = map[Key]model.Failure{v.Owner.Key: {What: "clone", Text: "no", Hard: true}}
		}},
		{"held", func(_ *world, v *model.VM) { v.Hold = model.Hold{Reason: "Paused", Text: "it is paused"} }},
		{"a password", func(_ *world, v *model.VM) {
			v.Options[model.Password], v.Managed, v.Password = "x", []string{model.Password}, model.Seal{Mark: "s.aaaabbbb"}
		}},
	}
}

// TestWhereNewGuestsGoAndHow: the plan for a guest that isn't there, in all kinds of worlds; and what a second one like it gets.
func TestWhereNewGuestsGoAndHow(t *testing.T) {
	var b strings.Builder
	for _, c := range newCases() {
		fmt.Fprintf(&b, "# %s\n", c.name)
		before := ""
		for _, foresee := range []bool{false, true} {
			w := wishWorld()
			delete(w.Guests, 9002)
			v := testVM("web")
			c.do(w, &v)
			second := v
			second.Owner.Name, second.Name, second.VMID = "second", "second", 0
			second.NICs = slices.Clone(v.NICs)
			second.NICs[0].MAC = ""
			want := desired(v, second)
			want.Foresee = foresee
			p, looks := w.planLooks(want)
			var text strings.Builder
			tell(&text, p, nil)
			said := strings.ReplaceAll(text.String(), "up to date: vmimage/ubuntu-22, vmimage/other\n", "")
			fmt.Fprintf(&b, "look:%s\n", strings.Join(looks, ";"))
			if said == before {
				continue
			}
			before = said
			b.WriteString(said)
		}
	}
	golden.Compare(t, "lives/new.golden", b.String())
}
