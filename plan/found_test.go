package plan

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

// inKubernetes gives what is wanted the UIDs that objects of Kubernetes have.
func inKubernetes(d *model.Desired) {
	for i := range d.VMs {
		d.VMs[i].Owner.UID = "uid-of-" + d.VMs[i].Owner.Name
	}
	for i := range d.Images {
		d.Images[i].Owner.UID = "uid-of-" + d.Images[i].Owner.Name
	}
}

// TestWhichGuestIsMeant: guests that are a machine's, may be it, say so, or were it; and VMIDs that two would have.
func TestWhichGuestIsMeant(t *testing.T) {
	type T = *testing.T
	type W = *world
	type D = *model.Desired
	mac := testVM("web").NICs[0].MAC
	nth := func(d D, n int) int {
		for id := range d.VMs[0].Owner.Candidates(d.VMs[0].Range) {
			if n--; n < 0 {
				return id
			}
		}
		panic("no candidate")
	}
	claims := func(w W, g *model.Guest, o model.Owner) {
		g.Config.Marker = &model.Marker{Owner: o, VMID: g.VMID, Source: "vmimage/ubuntu-22"}
	}
	situations(t, "found", []situation{
		{"its VMID is named and free, and another guest has its MAC address", func(_ T, w W, d D) {
			d.VMs[0].VMID = 5900
			w.plain(nth(d, 0), "web", "pve2").Config.NICs[0].MAC = mac
		}},
		{"its VMID is named and taken, and another guest has its MAC address", func(_ T, w W, d D) {
			d.VMs[0].VMID = 5900
			w.plain(5900, "theirs", "pve1")
			w.plain(nth(d, 0), "web", "pve2").Config.NICs[0].MAC = mac
		}},
		{"its VMID is named and taken, and another guest isn't read", func(_ T, w W, d D) {
			d.VMs[0].VMID = 5900
			w.plain(5900, "theirs", "pve1")
			w.plain(nth(d, 0), "web", "pve2")
		}},
		{"its VMID is named and free, and another guest says that it is it", func(_ T, w W, d D) {
			d.VMs[0].VMID = 5900
			claims(w, w.plain(777, "web", "pve2"), d.VMs[0].Owner)
		}},
		{"its VMID is named and taken, and another guest says that it is it", func(_ T, w W, d D) {
			d.VMs[0].VMID = 5900
			w.plain(5900, "theirs", "pve1")
			claims(w, w.plain(777, "web", "pve2"), d.VMs[0].Owner)
		}},
		{"two objects name one VMID", func(_ T, w W, d D) {
			v := testVM("second")
			d.VMs[0].VMID, v.VMID, v.NICs[0].MAC = 5900, 5900, ""
			d.VMs = append(d.VMs, v)
		}},
		{"two objects name one VMID, and the first has it", func(t T, w W, d D) {
			v := testVM("second")
			d.VMs[0].VMID, v.VMID, v.NICs[0].MAC = 5900, 5900, ""
			w.settle(t, d)
			d.VMs = append(d.VMs, v)
		}},
		{"two objects name one VMID, and the first is to go", func(_ T, w W, d D) {
			v := testVM("second")
			d.VMs[0].VMID, d.VMs[0].Deleted, v.VMID, v.NICs[0].MAC = 5900, true, 5900, ""
			d.VMs = append(d.VMs, v)
		}},
		{"another object names the VMID that is derived for this one", func(_ T, w W, d D) {
			v := testVM("second")
			v.VMID, v.NICs[0].MAC = nth(d, 0), ""
			d.VMs = append(d.VMs, v)
		}},
		{"the VMID that was written down is named by another object", func(_ T, w W, d D) {
			v := testVM("second")
			d.VMs[0].Remembered, v.VMID, v.NICs[0].MAC = 5900, 5900, ""
			d.VMs = append(d.VMs, v)
		}},
		{"the VMID that was written down is free, and another guest says that it is it", func(_ T, w W, d D) {
			d.VMs[0].Remembered = 5900
			claims(w, w.plain(777, "web", "pve2"), d.VMs[0].Owner)
		}},
		{"the VMID that was written down is free, and it is elsewhere", func(t T, w W, d D) {
			w.settle(t, d)
			d.VMs[0].Remembered = 5900
		}},
		{"the VMID that was written down is somebody's who took the name, and its own is elsewhere", func(t T, w W, d D) {
			w.settle(t, d)
			d.VMs[0].Remembered = 5900
			w.plain(5900, "web", "pve1")
		}},
		{"the VMID that was written down is somebody's", func(t T, w W, d D) {
			d.VMs[0].Remembered = 5900
			w.plain(5900, "theirs", "pve1")
		}},
		{"the VMID that was written down is somebody's without an interface", func(t T, w W, d D) {
			d.VMs[0].Remembered, d.VMs[0].NICs[0].MAC = 5900, ""
			w.plain(5900, "theirs", "pve1").Config.NICs[0].MAC = ""
		}},
		{"its candidates are all taken but a far one", func(_ T, w W, d D) {
			for n := range 12 {
				w.plain(nth(d, n), "theirs", "pve1")
			}
		}},
		{"it was made when its first candidates were taken", func(t T, w W, d D) {
			w.plain(nth(d, 0), "theirs", "pve1")
			w.plain(nth(d, 1), "theirs", "pve1")
			w.settle(t, d)
			delete(w.Guests, nth(d, 0))
			w.guest("web").Tags, w.guest("web").Config.Tags = nil, nil
			w.guest("web").Name = "renamed"
		}},
		{"it was made far beyond the first free VMID", func(t T, w W, d D) {
			for n := range 9 {
				w.plain(nth(d, n), "theirs", "pve1")
			}
			w.settle(t, d)
			for n := range 9 {
				delete(w.Guests, nth(d, n))
			}
			w.guest("web").Tags, w.guest("web").Config.Tags = nil, nil
			w.guest("web").Name = "renamed"
		}},
		{"it was made one beyond that", func(t T, w W, d D) {
			for n := range 8 {
				w.plain(nth(d, n), "theirs", "pve1")
			}
			w.settle(t, d)
			for n := range 8 {
				delete(w.Guests, nth(d, n))
			}
			w.guest("web").Tags, w.guest("web").Config.Tags = nil, nil
			w.guest("web").Name = "renamed"
		}},
		{"its first candidate is being made for another object", func(_ T, w W, d D) {
			other := owner("VirtualMachine", "other")
			w.seeing(func(o *model.Observed) {
				o.Placed = map[int]model.Placement{nth(d, 0): {Owner: other, Node: "pve2", Memory: 1 << 30}}
			})
		}},
		{"its first candidate is being made for another object, which has begun", func(_ T, w W, d D) {
			other := owner("VirtualMachine", "other")
			w.seeing(func(o *model.Observed) {
				o.Placed = map[int]model.Placement{nth(d, 0): {Owner: other, Node: "pve2", Memory: 1 << 30, Begun: true}}
			})
		}},
		{"it goes while its first candidate is being made for another object", func(_ T, w W, d D) {
			other := owner("VirtualMachine", "other")
			d.VMs[0].Deleted = true
			w.seeing(func(o *model.Observed) {
				o.Placed = map[int]model.Placement{nth(d, 0): {Owner: other, Node: "pve2", Memory: 1 << 30}}
			})
		}},
		{"a guest is half made with its tag", func(t T, w W, d D) {
			w.settle(t, d)
			c := w.guest("web").Config
			c.Marker, c.Half = nil, true
		}},
		{"two guests are it", func(t T, w W, d D) {
			w.settle(t, d)
			w.twin(w.guest("web"), nth(d, 3))
		}},
		{"two guests are it, by a glance", func(t T, w W, d D) {
			w.settle(t, d)
			w.twin(w.guest("web"), nth(d, 3))
			d.Quick = true
		}},
		{"two guests are it, one of them under a VMID of others", func(t T, w W, d D) {
			w.settle(t, d)
			w.twin(w.guest("web"), 777)
		}},
		{"two guests without names have its MAC address", func(_ T, w W, d D) {
			for _, id := range []int{5901, 5902, 5903} {
				g := w.plain(id, "", "pve1")
				g.Config.NICs[0].MAC, g.Name = mac, ""
			}
		}},
		{"a guest is called as another one without a name", func(_ T, w W, d D) { w.plain(5901, "VM 5902", "pve1") }},
		{"a guest without a name is locked", func(_ T, w W, d D) { w.plain(5901, "VM 5901", "pve1").Lock = "create" }},
		{"a template of its name without tags", func(_ T, w W, d D) { w.template(5901, "web", "pve1", "nfs") }},
		{"a container of its name", func(_ T, w W, d D) { w.plain(5901, "web", "pve1").Container = true }},
		{"a guest of its name that is proxplane's", func(_ T, w W, d D) {
			claims(w, w.plain(5901, "web", "pve1"), owner("VirtualMachine", "other"))
		}},
		{"a guest of its name with the tag of another object", func(_ T, w W, d D) {
			w.plain(5901, "web", "pve1").Tags = []string{model.Tag, model.StateTag(owner("VirtualMachine", "other"), "abc")}
		}},
		{"guests without names beside it", func(t T, w W, d D) {
			w.settle(t, d)
			w.plain(5901, "VM 5901", "pve1")
			w.plain(5902, "VM 5902", "pve1").Container = true
			w.template(5903, "VM 5903", "pve1", "nfs")
		}},
		{"guests without names beside it, by a glance", func(t T, w W, d D) {
			w.settle(t, d)
			w.plain(5901, "VM 5901", "pve1")
			d.Quick = true
		}},
		{"it is restored from a backup that isn't listed yet", func(t T, w W, d D) {
			w.tasks = []model.Task{{UPID: "UPID:r", Type: "qmrestore", VMID: 7000}}
		}},
		{"another guest was restored in its place", func(t T, w W, d D) {
			w.plain(7000, "theirs", "pve1")
			w.tasks = []model.Task{{UPID: "UPID:r", Type: "qmrestore", VMID: 7000}}
		}},
		{"it is to have another VMID, which a guest has that isn't read", func(t T, w W, d D) {
			w.settle(t, d)
			d.VMs[0].VMID, d.Allow.Replace = 5999, true
			w.plain(5999, "theirs", "pve1")
		}},
		{"it is to have another VMID, which its own guest has", func(t T, w W, d D) {
			w.settle(t, d)
			d.VMs[0].VMID = w.guest("web").VMID
			d.VMs[0].Source.Image.Name, d.Allow.Replace = "other", true
		}},
		{"in Kubernetes", func(t T, w W, d D) { inKubernetes(d) }},
		{"in Kubernetes, the object was made anew", func(t T, w W, d D) {
			inKubernetes(d)
			w.settle(t, d)
			d.VMs[0].Owner.UID = "another"
		}},
		{"in Kubernetes, the object was made anew and goes", func(t T, w W, d D) {
			inKubernetes(d)
			w.settle(t, d)
			d.VMs[0].Owner.UID, d.VMs[0].Deleted = "another", true
		}},
		{"in Kubernetes, the object was made anew and names a VMID", func(t T, w W, d D) {
			inKubernetes(d)
			w.settle(t, d)
			d.VMs[0].Owner.UID, d.VMs[0].VMID = "another", 5999
		}},
		{"in Kubernetes, the object was made anew and names the same VMID", func(t T, w W, d D) {
			inKubernetes(d)
			w.settle(t, d)
			d.VMs[0].Owner.UID, d.VMs[0].VMID = "another", w.guest("web").VMID
		}},
		{"in Kubernetes of another name, under the same VMID", func(t T, w W, d D) {
			inKubernetes(d)
			w.settle(t, d)
			d.VMs[0].Owner.Set, d.VMs[0].VMID = "other", w.guest("web").VMID
		}},
		{"in Kubernetes, an object of the name in another namespace has one", func(t T, w W, d D) {
			inKubernetes(d)
			w.settle(t, d)
			d.VMs[0].Owner.UID, d.VMs[0].Owner.Namespace = "another", "elsewhere"
		}},
		{"in Kubernetes, an object of the name of another set has one", func(t T, w W, d D) {
			inKubernetes(d)
			w.settle(t, d)
			d.VMs[0].Owner.UID, d.VMs[0].Owner.Set = "another", "elsewhere"
		}},
		{"in Kubernetes, an object of the name of another door has one", func(t T, w W, d D) {
			inKubernetes(d)
			w.settle(t, d)
			d.VMs[0].Owner.UID, d.VMs[0].Owner.Door = "another", "machines"
		}},
		{"in Kubernetes, a guest of the name lost its notes", func(t T, w W, d D) {
			inKubernetes(d)
			w.settle(t, d)
			d.VMs[0].Owner.UID = "another"
			w.guest("web").Config.Marker = nil
		}},
		{"in Kubernetes, a guest of the name has notes that anybody may have written", func(t T, w W, d D) {
			inKubernetes(d)
			w.settle(t, d)
			w.twin(w.guest("web"), 777)
			delete(w.Guests, nth(d, 0))
			d.VMs[0].Owner.UID = "another"
		}},
		{"in Kubernetes, a fetched image was made anew", func(t T, w W, d D) {
			d.Images = append(d.Images, fetched("cloud"))
			inKubernetes(d)
			w.settle(t, d)
			d.Images[2].Owner.UID = "another"
		}},
		{"in Kubernetes, a fetched image was made anew with another file", func(t T, w W, d D) {
			d.Images = append(d.Images, fetched("cloud"))
			inKubernetes(d)
			w.settle(t, d)
			d.Images[2].Owner.UID, d.Images[2].Checksum = "another", "bb"
		}},
		{"in Kubernetes, a fetched image was made anew, whose template isn't one yet", func(t T, w W, d D) {
			d.Images = append(d.Images, fetched("cloud"))
			inKubernetes(d)
			w.settle(t, d)
			d.Images[2].Owner.UID = "another"
			for _, g := range w.Guests {
				if g.Name == "cloud" {
					g.Template = false
				}
			}
		}},
		{"a template has the name of a fetched image, and is another object's", func(t T, w W, d D) {
			d.Images = append(d.Images, fetched("cloud"))
			w.settle(t, d)
			for _, g := range w.Guests {
				if g.Name == "cloud" {
					twin := w.twin(g, 6001)
					m := *g.Config.Marker
					m.Owner.Key.Namespace, m.VMID = "elsewhere", 6001
					twin.Config.Marker, twin.Config.Signed = &m, model.Signed
				}
			}
		}},
		{"a template has the name of a fetched image, and is another set's", func(t T, w W, d D) {
			d.Images = append(d.Images, fetched("cloud"))
			w.settle(t, d)
			for _, g := range w.Guests {
				if g.Name == "cloud" {
					twin := w.twin(g, 6001)
					m := *g.Config.Marker
					m.Owner.Set, m.VMID = "elsewhere", 6001
					twin.Config.Marker, twin.Config.Signed = &m, model.Signed
				}
			}
		}},
		{"an image has changed, and guests without names are there", func(t T, w W, d D) {
			d.Images = append(d.Images, fetched("cloud"))
			w.settle(t, d)
			d.Images[2].Checksum = "bb"
			w.turns(d, 8)
			w.plain(6500, "VM 6500", "pve1").Tags = []string{model.Tag}
			w.plain(6501, "VM 6501", "pve1")
			w.template(6502, "cloud", "pve1", "nfs")
			w.plain(6503, "cloud", "pve1").Tags = []string{model.Tag}
		}},
	})
}
