package plan

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// A guest that somebody moves is only moved, whatever else is wanted of it; a drained node's guests know
// where they came from until they are back.
func TestGuestsAreMovedAndBroughtBack(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	converge(t, w, desired(v))
	guest := func() *model.Guest {
		for _, g := range w.Guests {
			if g.Name == "web" {
				return g
			}
		}
		return nil
	}
	move := func(m model.Move) {
		t.Helper()
		want := desired(v)
		want.Moves = map[model.Key]model.Move{v.Owner.Key: m}
		want.VMs[0].Options["memory"] = "8192" // is for the next apply
		if p := converge(t, w, want); !p.Ready() {
			t.Fatalf("plan:\n%s", p)
		}
		delete(want.VMs[0].Options, "memory")
		if guest().Config.Options["memory"] == "8192" {
			t.Error("more was done than to move it")
		}
	}
	is := func(node, home string) {
		t.Helper()
		if g := guest(); g.Node != node || g.Config.Marker.Home != home || g.Status != model.StatusRunning {
			t.Errorf("it is %s on %s, and comes from %q; want it on %s, from %q", g.Status, g.Node, g.Config.Marker.Home, node, home)
		}
	}
	is("pve1", "")
	move(model.Move{From: "pve1", Home: "pve1", Why: "pve1 is drained"})
	is("pve2", "pve1")
	if p := converge(t, w, desired(v)); !p.Ready() {
		t.Errorf("plan:\n%s", p)
	}
	is("pve2", "pve1")
	move(model.Move{From: "pve2", To: "pve1"})
	is("pve1", "")
	move(model.Move{From: "pve1", Home: "pve1"})
	move(model.Move{From: "pve2", To: "pve3"})
	is("pve3", "") // who moves it by name wants it there
	move(model.Move{From: "pve1", To: "pve2"})
	is("pve3", "") // somebody has moved it since that was asked for
}

func TestWhatIsInTheWayOfAMove(t *testing.T) {
	for name, c := range inOrder(map[string]struct {
		change func(w *world, g *model.Guest, v *model.VM)
		to     string
		why    string
	}{
		"no such node":   {func(*world, *model.Guest, *model.VM) {}, "pve9", "pve9: not in the cluster, which has pve1, pve2, pve3"},
		"its policy":     {func(_ *world, _ *model.Guest, v *model.VM) { v.Place.Nodes = []string{"pve1", "pve2"} }, "pve3", "pve3: its placement allows pve1, pve2 only"},
		"offline":        {func(w *world, _ *model.Guest, _ *model.VM) { w.Nodes["pve3"].Online = false }, "pve3", "pve3: offline"},
		"maintenance":    {func(w *world, _ *model.Guest, _ *model.VM) { w.Nodes["pve3"].Maintenance = true }, "pve3", "pve3: in maintenance"},
		"memory":         {func(w *world, _ *model.Guest, _ *model.VM) { w.Nodes["pve3"].Used = 64 << 30 }, "pve3", "of memory free"},
		"a PCI device":   {func(_ *world, g *model.Guest, _ *model.VM) { g.Config.Options["hostpci0"] = "0000:01:00.0" }, "pve3", "hostpci0 is a device of pve1"},
		"a USB device":   {func(_ *world, g *model.Guest, _ *model.VM) { g.Config.Options["usb0"] = "host=1-1" }, "", "pve2, pve3: usb0 is a device of pve1"},
		"a mapped GPU":   {func(_ *world, g *model.Guest, _ *model.VM) { g.Config.Options["hostpci0"] = "mapping=gpu" }, "pve3", "hostpci0 is a device of pve1, and Proxmox moves a machine with one only while it is off"},
		"a mapped stick": {func(_ *world, g *model.Guest, _ *model.VM) { g.Config.Options["usb0"] = "mapping=stick" }, "pve3", "usb0 is a device of pve1, and Proxmox moves a machine with one only while it is off"},
		"a stopped one with a GPU": {func(w *world, g *model.Guest, _ *model.VM) {
			g.Status, g.Config.Options["hostpci0"] = model.StatusStopped, "mapping=gpu"
			w.seeing(gpus(false, "pve1", "pve3"))
		}, "pve3", ""},
		"a stopped one with a stick": {func(_ *world, g *model.Guest, _ *model.VM) {
			g.Status, g.Config.Options["usb0"] = model.StatusStopped, "mapping=stick"
		}, "pve3", ""},
		"no GPU there": {func(w *world, g *model.Guest, _ *model.VM) {
			g.Status, g.Config.Options["hostpci0"] = model.StatusStopped, "mapping=gpu"
			w.seeing(gpus(false, "pve1", "pve2"))
		}, "pve3", "pve3: no device of mapping gpu"},
		"a GPU that moves along": {func(w *world, g *model.Guest, _ *model.VM) {
			g.Config.Options["hostpci0"] = "mapping=gpu"
			w.seeing(gpus(true, "pve1", "pve3"))
		}, "pve3", ""},
		"a GPU that moves along, and is in use there": {func(w *world, g *model.Guest, _ *model.VM) {
			g.Config.Options["hostpci0"] = "mapping=gpu"
			w.seeing(gpus(true, "pve1", "pve3"))
			other := user("pve3", model.StatusRunning, "mapping=gpu")
			other.VMID, other.Name = 300, "other"
			w.Guests[300] = other
		}, "pve3", "pve3: 1 device of mapping gpu, in use by other (300)"},
		"spice is fine":  {func(_ *world, g *model.Guest, _ *model.VM) { g.Config.Options["usb0"] = "spice" }, "pve3", ""},
		"socket is fine": {func(_ *world, g *model.Guest, _ *model.VM) { g.Config.Options["serial0"] = "socket" }, "pve3", ""},
		"a local CD": {func(w *world, g *model.Guest, _ *model.VM) {
			g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: "ide3", Volume: "local-lvm:iso/x.iso", Storage: "local-lvm", CDROM: true})
		}, "pve3", "local-lvm:iso/x.iso, in drive ide3, is on pve1 alone"},
	}) {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			v := testVM("web")
			converge(t, w, desired(v))
			for _, g := range w.Guests {
				if g.Name == "web" {
					c.change(w, g, &v)
				}
			}
			want := desired(v)
			want.Moves = map[model.Key]model.Move{v.Owner.Key: {From: "pve1", To: c.to}}
			o := w.plan(want).Objects[2]
			if c.why == "" {
				if len(o.Steps) != 1 {
					t.Errorf("it isn't moved:\n%s", o)
				}
				return
			}
			if len(o.Steps) > 0 || o.Wait == nil || o.Wait.Reason != model.WaitUnfit || !strings.Contains(o.Wait.Text, c.why) {
				t.Errorf("want it to stay since %s:\n%s", c.why, o)
			}
		})
	}
}

// gpus shows a mapping of one device on each of some nodes.
func gpus(live bool, nodes ...string) func(*model.Observed) {
	return func(o *model.Observed) {
		d := model.Devices{On: map[string][]string{}, Live: live}
		for _, n := range nodes {
			d.On[n] = []string{"0000:01:00.0"}
		}
		o.Devices = map[string]model.Devices{"pci/gpu": d}
	}
}

// A move that nothing can be done about isn't done.
func TestAMoveOfAGuestThatIsNotFoundIsNotDone(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	id := converge(t, w, desired(v)).object(t, "web").VMID
	want := desired(v)
	want.Moves = map[model.Key]model.Move{v.Owner.Key: {From: "pve1", To: "pve2"}}
	delete(w.Guests, id)
	if o := w.plan(want).object(t, "web"); o.Ready() {
		t.Errorf("it is said to be done:\n%s", o)
	}
}
