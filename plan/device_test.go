package plan

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// A guest with devices goes to a node that has them, by their mappings.
func TestGuestsGoWhereTheirDevicesAre(t *testing.T) {
	devices := map[string]model.Devices{"pci/gpu": {On: map[string][]string{"pve2": {"0000:01:00.0"}, "pve3": {"0000:01:00", "0000:02:00.0"}}}}
	for _, c := range []struct {
		reason  string
		options map[string]string
		devices map[string]model.Devices
		node    string
		says    string
	}{
		{"one device", map[string]string{"hostpci0": "mapping=gpu"}, devices, "pve2", "pve1: no device of mapping gpu"},
		{"two devices", map[string]string{"hostpci0": "mapping=gpu", "hostpci1": "mapping=gpu"}, devices, "pve3", "pve2: 1 device of mapping gpu, 2 needed"},
		{"two parts of one device", map[string]string{"hostpci0": "mapping=gpu,mdev=x", "hostpci1": "mapping=gpu,mdev=x"}, devices, "pve2", "pve1: no device of mapping gpu"},
		{"Proxmox doesn't say", map[string]string{"hostpci0": "mapping=gpu"}, nil, "pve1", ""},
		{"more than any node has", map[string]string{"hostpci0": "mapping=gpu", "hostpci1": "mapping=gpu", "hostpci2": "mapping=gpu"}, devices, "", "pve3: 2 devices of mapping gpu, 3 needed"},
	} {
		w := newWorld()
		w.seeing(func(o *model.Observed) { o.Devices = c.devices })
		v := testVM("web")
		for k, value := range c.options {
			v.Options = withOption(v.Options, k, value)
		}
		p := w.plan(desired(v))
		if o := p.Objects[len(p.Objects)-1]; o.Node != c.node || !strings.Contains(p.String(), c.says) {
			t.Errorf("%s: it goes to %q:\n%s", c.reason, o.Node, p)
		}
	}
}

// withCards gives two nodes PCI devices, and other guests that have some of them.
func withCards(users ...*model.Guest) *world {
	w := newWorld()
	w.seeing(func(o *model.Observed) {
		o.Devices = map[string]model.Devices{
			"pci/gpu": {On: map[string][]string{"pve2": {"0000:01:00"}, "pve3": {"0000:01:00", "0000:02:00.0"}}},
			"pci/big": {On: map[string][]string{"pve3": {"0000:02:00.0"}}},
		}
		o.Mappings["pci"] = map[string]bool{"gpu": true, "big": true}
	})
	for i, g := range users {
		g.VMID, g.Name, g.Memory = 300+i, "other", 1<<30
		g.Config.Digest, g.Snapshots = w.NextDigest(), []model.SnapshotInfo{}
		w.Guests[g.VMID] = g
	}
	return w
}

// user is a guest of somebody else with a device.
func user(node string, status model.Status, device string) *model.Guest {
	return &model.Guest{Node: node, Status: status, Config: &model.Config{Options: map[string]string{"hostpci0": device}}}
}

func withDevice(name, device string) model.VM {
	v := testVM(name)
	v.Options = withOption(v.Options, "hostpci0", device)
	return v
}

// Devices that others have are in use, those of stopped guests are free.
func TestDevicesInUseAreCounted(t *testing.T) {
	const run, off = model.StatusRunning, model.StatusStopped
	for _, c := range []struct {
		reason string
		users  []*model.Guest
		want   string
		node   string
		says   string
	}{
		{"nobody uses one", nil, "mapping=gpu", "pve2", ""},
		{"one that runs has it", []*model.Guest{user("pve2", run, "mapping=gpu")}, "mapping=gpu", "pve3", "pve2: 1 device of mapping gpu, in use by other (300)"},
		{"one that is stopped has none", []*model.Guest{user("pve2", off, "mapping=gpu")}, "mapping=gpu", "pve2", ""},
		{"it has it by its address", []*model.Guest{user("pve2", run, "host=01:00.1,pcie=1")}, "mapping=gpu", "pve3", "in use by other (300)"},
		{"it has parts of it", []*model.Guest{user("pve2", run, "mapping=gpu,mdev=x")}, "mapping=gpu", "pve2", ""},
		{"one of two is free", []*model.Guest{user("pve2", run, "mapping=gpu"), user("pve3", run, "mapping=gpu")}, "mapping=gpu", "pve3", ""},
		{"two mappings of one device: the other device is left", []*model.Guest{user("pve3", run, "mapping=gpu")}, "mapping=big", "pve3", ""},
		{"two mappings, and none is left", []*model.Guest{user("pve3", run, "mapping=gpu"), user("pve3", run, "mapping=gpu")}, "mapping=big", "", "pve3: 1 device of mapping big, in use by other (300), other (301)"},
		{"all are in use", []*model.Guest{user("pve2", run, "mapping=gpu"), user("pve3", run, "mapping=gpu"), user("pve3", run, "mapping=big")}, "mapping=gpu", "", "pve3: 2 devices of mapping gpu, in use by other (301), other (302)"},
	} {
		w := withCards(c.users...)
		p := w.plan(desired(withDevice("web", c.want)))
		if o := p.Objects[len(p.Objects)-1]; o.Node != c.node || !strings.Contains(p.String(), c.says) {
			t.Errorf("%s: it goes to %q:\n%s", c.reason, o.Node, p)
		}
	}
}

// What a plan promises to one guest it doesn't promise to another, and a guest that is made later counts with those that
// are there already, whether they have their devices yet or not.
func TestDevicesArePromisedOnce(t *testing.T) {
	w := withCards()
	want := desired(withDevice("a", "mapping=gpu"), withDevice("b", "mapping=gpu"), withDevice("c", "mapping=gpu"), withDevice("d", "mapping=gpu"))
	p := w.plan(want)
	on := map[string]int{}
	for _, o := range p.Objects {
		on[o.Node]++
	}
	if on["pve2"] != 1 || on["pve3"] != 2 || !strings.Contains(p.String(), "pve3: 2 devices of mapping gpu, in use by ") {
		t.Errorf("the plan promises %v:\n%s", on, p)
	}
	converge(quiet{t}, w, desired(want.VMs[:3]...))
	p = w.plan(want)
	if o := p.Objects[len(p.Objects)-1]; o.Wait == nil || o.Wait.Reason != model.WaitPlace {
		t.Errorf("the fourth doesn't wait:\n%s", p)
	}
	few := NewWanted(want).For(want.VMs[3].Owner.Key)
	if p := w.plan(few); p.Objects[len(p.Objects)-1].Wait == nil {
		t.Errorf("the fourth, planned for itself, doesn't wait:\n%s", p)
	}
}

// A guest that is there waits for its device: Proxmox wouldn't start it.
func TestGuestsWaitForTheirDevice(t *testing.T) {
	w := withCards()
	v := withDevice("web", "mapping=gpu")
	v.Place.Nodes = []string{"pve2"}
	converge(quiet{t}, w, desired(v))
	var g *model.Guest
	for _, one := range w.Guests {
		if one.Name == "web" {
			g = one
		}
	}
	g.Status = model.StatusStopped
	other := user("pve2", model.StatusRunning, "mapping=gpu")
	other.VMID, other.Name, other.Snapshots = 300, "other", []model.SnapshotInfo{}
	w.Guests[300] = other
	p := w.plan(desired(v))
	o := p.Objects[len(p.Objects)-1]
	if o.Wait == nil || o.Wait.Reason != model.WaitPlace || !strings.Contains(o.Wait.Text, "can't start on pve2: 1 device of mapping gpu, in use by other (300)") || len(o.Steps) > 0 {
		t.Errorf("it doesn't wait for its device:\n%s", p)
	}
	other.Status = model.StatusStopped
	if p := w.plan(desired(v)); len(p.Objects[len(p.Objects)-1].Steps) == 0 {
		t.Errorf("it doesn't start when its device is free:\n%s", p)
	}
}
