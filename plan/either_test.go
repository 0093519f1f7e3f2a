package plan

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

// TestEitherCauseIsEnough: of several causes that lead to the same, one is there alone.
func TestEitherCauseIsEnough(t *testing.T) {
	type T = *testing.T
	type W = *world
	type D = *model.Desired
	there := func(name string, change func(w W, d D, g *model.Guest)) situation {
		return situation{name, func(t T, w W, d D) { w.settle(t, d); change(w, d, w.guest("web")) }}
	}
	// anew has the machine made from another image, if that is possible.
	anew := func(name string, change func(w W, v *model.VM)) situation {
		return there("to be made anew, "+name, func(w W, d D, _ *model.Guest) {
			d.Allow, d.VMs[0].Source.Image = model.Allow{Replace: true, Data: true, Restart: true}, d.Images[1].Owner.Key
			change(w, &d.VMs[0])
		})
	}
	// shares are two mappings that one machine uses.
	shares := func(d D) {
		d.VMs = []model.VM{sharingVM("web", "data", "logs")}
		d.Shares = []model.Share{testShare("data", "/srv/data"), testShare("logs", "/srv/logs")}
	}
	shared := func(name string, change func(w W, d D)) situation {
		return situation{"two directories, " + name, func(t T, w W, d D) { shares(d); w.settle(t, d); change(w, d) }}
	}
	situations(t, "either", []situation{
		anew("which can be done", func(W, *model.VM) {}),
		anew("and its pool isn't there", func(w W, v *model.VM) {
			v.Pool = "none"
			w.seeing(func(o *model.Observed) { o.Pools = map[string]bool{} })
		}),
		anew("and a storage for its disk isn't there", func(_ W, v *model.VM) {
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi4", Name: "more", Storage: "none", Size: 1 << 30})
		}),
		there("a further disk on a storage that isn't there", func(_ W, d D, _ *model.Guest) {
			d.VMs[0].Disks = append(d.VMs[0].Disks, model.Disk{Slot: "scsi4", Name: "more", Storage: "none", Size: 1 << 30})
		}),
		{"out of a pool by hand, and a request may still put it back", func(t T, w W, d D) {
			d.VMs[0].Pool = "team"
			w.seeing(func(o *model.Observed) { o.Pools = map[string]bool{"team": true} })
			w.settle(t, d)
			d.VMs[0].Pool = ""
			g := w.guest("web")
			g.Pool, g.InFlight = "", model.AspectPool
		}},
		shared("one isn't wanted any more", func(_ W, d D) {
			d.VMs[0] = sharingVM("web", "data")
			d.Shares[1].Deleted = true
		}),
		shared("none is wanted any more", func(_ W, d D) {
			d.VMs[0] = testVM("web")
			d.Shares[0].Deleted, d.Shares[1].Deleted = true, true
		}),
		shared("one is to go while it is used, and not all machines are visible", func(w W, d D) {
			d.Shares[1].Deleted = true
			w.without("/vms")
		}),
		there("the template that it was made from is of a name that no image has now", func(w W, d D, _ *model.Guest) {
			w.Guests[9000].Name = "ubuntu-22-old"
			w.template(9003, d.Images[0].Template, "pve2", "nfs")
			d.Images[0].Tag = "golden"
			w.Guests[9003].Tags = []string{"golden"}
		}),
	})
}

// The hook is missing on all nodes: people begin with the first.
func TestTheFirstNodeWithoutTheHookIsNamed(t *testing.T) {
	w := wishWorld()
	w.template(9000, "ubuntu-22-template", "pve1", "nfs")
	w.seeing(func(o *model.Observed) { o.Snippets = map[string]model.File{} })
	want := desired(testVM("web"))
	want.VMs[0].Scripts = []string{"nfs:snippets/" + hookScript}
	o := w.planAll(want).object(t, "web")
	if o.Wait == nil || o.Wait.Do != (model.Advice{Do: model.InstallHook, Node: "pve1"}) {
		t.Errorf("it waits so: %+v", o.Wait)
	}
}
