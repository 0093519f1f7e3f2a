package plan

import (
	"fmt"
	"testing"

	"github.com/proxplane/proxplane/model"
)

func moveStages() (stages []situation) {
	for name, move := range inOrder(map[string]model.Move{
		"to pve2":          {From: "pve1", To: "pve2"},
		"to its own node":  {From: "pve1", To: "pve1"},
		"to no such node":  {From: "pve1", To: "pve9"},
		"away":             {From: "pve1", Why: "pve1 is drained"},
		"away for a while": {From: "pve1", Home: "pve1", Why: "pve1 is drained"},
		"from elsewhere":   {From: "pve3", To: "pve2"},
	}) {
		add := func(what string, do func(w *world, d *model.Desired)) {
			stages = append(stages, situation{"it goes " + name + what, func(t *testing.T, w *world, d *model.Desired) {
				w.settle(t, d)
				do(w, d)
				d.Moves = map[model.Key]model.Move{d.VMs[0].Owner.Key: move}
			}})
		}
		add("", func(*world, *model.Desired) {})
		add(", and is off", func(w *world, d *model.Desired) { w.guest("web").Status = model.StatusStopped })
		if move.Home != "" || move.To == "pve2" {
			add(", and comes from pve3", func(w *world, _ *model.Desired) { w.guest("web").Config.Marker.Home = "pve3" })
			add(", and is on its way", func(w *world, _ *model.Desired) {
				w.guest("web").Config.Marker.Home, w.guest("web").Config.Marker.Away = "pve1", "pve2"
			})
		}
	}
	return stages
}

func moveTroubles() (list troubles) {
	of := func(name string, change func(g *model.Guest)) {
		list.add(name, func(w *world, _ *model.Desired) { change(w.guest("web")) })
	}
	for _, option := range []string{
		"ivshmem size=1", "hostpci0 0000:01:00.0", "hostpci0 mapping=gpu", "parallel0 /dev/usb/lp0", "serial0 socket", "serial0 /dev/ttyS0", "usb0 host=1234:5678",
		"usb0 host=spice", "usb0 spice", "usb0 mapping=gpu", "virtiofs0 data", "onboot 1", "sata0 none", "serials socket",
	} {
		var key, value string
		fmt.Sscan(option, &key, &value)
		of("it has "+key+" "+value, func(g *model.Guest) { g.Config.Options[key] = value })
	}
	list.add("it has a mapped GPU that moves along", func(w *world, _ *model.Desired) {
		w.guest("web").Config.Options["hostpci0"] = "mapping=gpu"
		w.seeing(gpus(true, all3...))
	})
	list.add("it has a mapped GPU that doesn't", func(w *world, _ *model.Desired) {
		w.guest("web").Config.Options["hostpci0"] = "mapping=gpu"
		w.seeing(gpus(false, all3...))
	})
	list.add("it has a mapped stick beside a GPU that moves along", func(w *world, _ *model.Desired) {
		w.guest("web").Config.Options["usb0"] = "mapping=gpu"
		w.seeing(gpus(true, all3...))
	})
	of("it is locked", func(g *model.Guest) { g.Lock = "backup" })
	of("it is a template", func(g *model.Guest) { g.Template = true })
	of("nobody knows whether it runs", func(g *model.Guest) { g.Status = model.StatusUnknown })
	of("it is paused", func(g *model.Guest) { g.Status = model.StatusPaused })
	of("it has snapshots", func(g *model.Guest) { g.Snapshots = []model.SnapshotInfo{{Name: "a"}} })
	of("it has a local disk", func(g *model.Guest) {
		g.Config.Disks[0].Storage, g.Config.Disks[0].Volume = "local-lvm", "local-lvm:vm-5600-disk-0"
	})
	of("it is where it was sent", func(g *model.Guest) { g.Node = "pve2" })
	of("it is elsewhere", func(g *model.Guest) { g.Node = "pve3" })
	of("it is under HA", func(g *model.Guest) { g.HAState = "started" })
	for name, limit := range inOrder(map[string]model.HALimit{
		"may be on pve1 only":             {Nodes: map[string]int{"pve1": 0}, Strict: true},
		"should be on pve1":               {Nodes: map[string]int{"pve1": 0}},
		"may be on pve2 only":             {Nodes: map[string]int{"pve2": 0}, Strict: true},
		"is kept apart":                   {Apart: true},
		"is about nodes, and names none":  {Strict: true},
		"is about nothing that is known":  {},
		"is kept apart and on pve1, pve2": {Apart: true, Nodes: map[string]int{"pve1": 0, "pve2": 0}, Strict: true},
	}) {
		for _, release := range []int{8, 9} {
			list.add(fmt.Sprintf("on %d it is under HA and %s", release, name), func(w *world, d *model.Desired) {
				g := w.guest("web")
				g.HAState = "started"
				w.plain(777, "neighbour", "pve2")
				w.Release = release
				if release < 9 {
					w.HA[sid(g.VMID)] = map[string]string{"group": "rule", "state": "started"}
				} else {
					w.HA[sid(g.VMID)] = map[string]string{"state": "started"}
					w.Rules = map[string][]string{"rule": {sid(g.VMID), "vm:777", "ct:5", "vm:none"}, "other": {"vm:777"}}
				}
				w.seeing(func(o *model.Observed) { o.HALimits = map[string]model.HALimit{"rule": limit} })
				_ = d
			})
		}
	}
	list.add("pve2 is offline", func(w *world, _ *model.Desired) { w.Nodes["pve2"].Online = false })
	list.add("pve2 is in maintenance", func(w *world, _ *model.Desired) { w.Nodes["pve2"].Maintenance = true })
	list.add("pve2 is full", func(w *world, _ *model.Desired) { w.Nodes["pve2"].Used = w.Nodes["pve2"].Memory })
	list.add("its policy allows pve1 and pve3", func(_ *world, d *model.Desired) { d.VMs[0].Place.Nodes = []string{"pve1", "pve3"} })
	list.add("its policy allows pve2", func(_ *world, d *model.Desired) { d.VMs[0].Place.Nodes = []string{"pve2"} })
	list.add("it is to be on other nodes by their labels", func(_ *world, d *model.Desired) {
		d.VMs[0].Place.Where = []model.Selector{{Key: "rack", Operator: "In", Values: []string{"b"}}}
		d.VMs[0].Place.Facts = map[string]model.NodeFacts{"pve2": {Labels: map[string]string{"rack": "a"}}, "pve3": {Labels: map[string]string{"rack": "b"}}, "pve9": {}, model.AllNodes: {}}
	})
	list.add("it is gone", func(w *world, _ *model.Desired) { delete(w.Guests, w.guest("web").VMID) })
	list.add("it has lost its marker", func(w *world, _ *model.Desired) { w.guest("web").Config.Marker = nil })
	list.add("it isn't read", func(w *world, _ *model.Desired) {
		id := w.guest("web").VMID
		w.seeing(func(o *model.Observed) { o.Guests[id].Config = nil })
	})
	list.add("it has a seed on a local storage", func(w *world, d *model.Desired) {
		w.storage("files", "dir", false, 100, "iso", all3...)
		d.VMs[0].Seed = &model.Seed{Storage: "files", Digest: "aaaaaaaaaaaaaaaa"}
	})
	list.add("its storage isn't on pve2", func(w *world, _ *model.Desired) {
		s := deep(*w.Storages["nfs"])
		delete(s.OnNode, "pve2")
		w.Storages["nfs"] = &s
	})
	return list
}

// TestMovesThatPeopleAskFor: where a machine goes that somebody moves by its name or whose node is drained, and what is in the way.
func TestMovesThatPeopleAskFor(t *testing.T) {
	matrix(t, "moves", moveStages(), moveTroubles())
}
