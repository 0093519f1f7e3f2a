package plan

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// machineKinds are machines that need something of their nodes, of other machines or of the cluster.
func machineKinds() map[string]func(w *world, d *model.Desired) {
	local := func(w *world) {
		s := w.storage("local", "dir", false, 100, "snippets", all3...)
		s.Content["iso"] = true
	}
	return map[string]func(w *world, d *model.Desired){
		"hooked": func(w *world, d *model.Desired) {
			local(w)
			w.Root = true
			w.snippet(testHook, all3...)
			d.VMs[0] = hookedVM("web")
		},
		"with snippets": func(w *world, d *model.Desired) {
			local(w)
			d.VMs[0] = snippetVM("web", "aaaaaaaaaaaaaaaa", false)
			d.VMs[0].Place.Nodes = []string{"pve1", "pve2"}
		},
		"with a directory": func(_ *world, d *model.Desired) {
			d.VMs[0], d.Shares = sharingVM("web", "data"), []model.Share{testShare("data", "/srv/data")}
		},
		"with a card and a firewall": func(w *world, d *model.Desired) {
			w.also = withCards().also
			d.VMs[0].Options = withOption(d.VMs[0].Options, "hostpci0", "mapping=gpu")
			d.VMs[0].NICs[0].Firewall, d.VMs[0].Firewall = true, walls("in ACCEPT SSH", "group web", "in DROP")
		},
		"a copy": func(_ *world, d *model.Desired) {
			golden := testVM("golden")
			golden.NICs[0].MAC = ""
			d.VMs[0].Source = model.Source{VM: golden.Owner.Key, Snapshot: "now", Full: true}
			d.VMs = append(d.VMs, golden)
			d.Snapshots = []model.Snapshot{{Owner: owner("VMSnapshot", "now"), VM: golden.Owner.Key, Name: "now"}}
		},
		"one of a group": func(_ *world, d *model.Desired) {
			*d = members("web", 2)
			for i := range d.VMs {
				d.VMs[i].NICs[0].MAC, d.VMs[i].Rollout = "", model.Rollout{Groups: []string{"web"}}
			}
			d.MaxUnavailable = model.Limit{Count: 1}
		},
	}
}

func kindStages() (stages []situation) {
	for name, base := range inOrder(machineKinds()) {
		add := func(what string, do func(t *testing.T, w *world, d *model.Desired)) {
			stages = append(stages, situation{name + ", " + what, func(t *testing.T, w *world, d *model.Desired) { base(w, d); do(t, w, d) }})
		}
		add("new", func(*testing.T, *world, *model.Desired) {})
		add("cloned", func(_ *testing.T, w *world, d *model.Desired) { w.turns(d, 1) })
		add("made", func(t *testing.T, w *world, d *model.Desired) { w.settle(t, d) })
		add("to have more", func(t *testing.T, w *world, d *model.Desired) {
			w.settle(t, d)
			for i := range d.VMs {
				d.VMs[i].Options = maps.Clone(d.VMs[i].Options)
				d.VMs[i].Options["cores"] = "8"
			}
			d.Allow.Restart = true
		})
		add("to be made of another image", func(t *testing.T, w *world, d *model.Desired) {
			w.settle(t, d)
			for i := range d.VMs {
				if d.VMs[i].Source.VM == (model.Key{}) {
					d.VMs[i].Source.Image.Name = "other"
				}
			}
			d.Images[1].Template, d.Allow = "debian-12-template", model.Allow{Replace: true, Data: true}
		})
		add("to go", func(t *testing.T, w *world, d *model.Desired) { w.settle(t, d); d.Delete(); d.Allow.Data = true })
	}
	return stages
}

// hostTroubles are what may have happened to what machines need beside their disks.
func hostTroubles() (list troubles) {
	list.add("the hook isn't on pve1", func(w *world, _ *model.Desired) { w.snippet(testHook, "pve2", "pve3") })
	list.add("the hook is nowhere", func(w *world, _ *model.Desired) { delete(w.Snippets, testHook) })
	list.add("no snippets are there", func(w *world, _ *model.Desired) { clear(w.Snippets) })
	list.add("snippets are on pve1 only", func(w *world, _ *model.Desired) {
		for volume, f := range w.Snippets {
			f.Node, f.Also = "pve1", nil
			w.Snippets[volume] = f
		}
	})
	list.add("the login isn't root's", func(w *world, _ *model.Desired) { w.Root = false })
	list.add("other first-boot data are wanted", func(_ *world, d *model.Desired) {
		for i, v := range d.VMs {
			if v.Seed != nil {
				s := *v.Seed
				s.Digest = "bbbbbbbbbbbbbbbb"
				d.VMs[i].Seed = &s
			}
		}
	})
	list.add("other first-boot data are wanted, and it may be replaced", func(_ *world, d *model.Desired) {
		for i, v := range d.VMs {
			if v.Seed != nil {
				s := *v.Seed
				s.Digest = "bbbbbbbbbbbbbbbb"
				d.VMs[i].Seed, d.Allow.Replace = &s, true
			}
		}
	})
	list.add("there is no storage for snippets", func(w *world, _ *model.Desired) { delete(w.Storages, "local") })
	for name, dir := range inOrder(map[string]model.Dir{
		"isn't there on pve1":   {Paths: map[string]string{"pve2": "/srv/data", "pve3": "/srv/data"}},
		"is another one":        {Paths: map[string]string{"pve1": "/srv/other", "pve2": "/srv/data", "pve3": "/srv/data"}},
		"is of somebody else's": {Paths: map[string]string{"pve1": "/srv/data", "pve2": "/srv/data", "pve3": "/srv/data"}, Made: true, Maker: "theirs"},
	}) {
		list.add("the directory "+name, func(w *world, _ *model.Desired) { w.Dirs["data"] = dir })
	}
	list.add("the directory is broken on pve1", func(w *world, _ *model.Desired) { w.bad["pve1:/srv/data"] = "no such directory" })
	list.add("the directory is on pve3 only", func(_ *world, d *model.Desired) {
		for i := range d.Shares {
			d.Shares[i].Nodes = []string{"pve3"}
		}
	})
	list.add("the directory isn't wanted any more", func(_ *world, d *model.Desired) {
		for i := range d.Shares {
			d.Shares[i].Deleted = true
		}
	})
	for _, status := range []model.Status{model.StatusRunning, model.StatusStopped} {
		for _, node := range []string{"pve2", "pve3"} {
			for _, device := range []string{"mapping=gpu", "0000:01:00.0", "mapping=big", "0000:01:00"} {
				list.add(fmt.Sprintf("a guest that is %s has %s on %s", status, device, node), func(w *world, _ *model.Desired) {
					g := w.plain(777, "theirs", node)
					g.Status, g.Config.Options["hostpci0"] = status, device
				})
			}
		}
	}
	list.add("a template has the card", func(w *world, _ *model.Desired) {
		w.template(9100, "another", "pve2", "nfs")
		w.Guests[9100].Config.Options["hostpci0"], w.Guests[9100].Status = "mapping=gpu", model.StatusRunning
	})
	list.add("no node has the card", func(w *world, _ *model.Desired) {
		w.seeing(func(o *model.Observed) { o.Devices = map[string]model.Devices{"pci/gpu": {}} })
	})
	list.add("another machine of the set wants the card, too", func(_ *world, d *model.Desired) {
		for _, power := range []model.Power{model.PowerOn, model.PowerOff, model.PowerOffGraceful} {
			v := withDevice("more-"+string(power), "mapping=gpu")
			v.NICs[0].MAC, v.Power = "", power
			d.VMs = append(d.VMs, v)
		}
	})
	list.add("another machine of the set with the card is to go", func(_ *world, d *model.Desired) {
		v := withDevice("goes", "mapping=gpu")
		v.NICs[0].MAC, v.Deleted = "", true
		d.VMs = append(d.VMs, v)
	})
	wall := func(name string, change func(f *model.SeenFirewall)) {
		list.add(name, func(w *world, _ *model.Desired) {
			for _, g := range w.Guests {
				if g.Firewall != nil {
					f := deep(*g.Firewall)
					change(&f)
					g.Firewall = &f
				}
			}
		})
	}
	wall("somebody has added a rule", func(f *model.SeenFirewall) {
		f.Rules = slices.Insert(slices.Clone(f.Rules), 0, model.FirewallRule{Type: "in", Action: "ACCEPT"})
	})
	wall("somebody has removed the rules", func(f *model.SeenFirewall) { f.Rules = nil })
	wall("somebody has turned it off", func(f *model.SeenFirewall) { f.Options = map[string]string{"enable": "0"} })
	list.add("the firewall of the cluster is off", func(w *world, _ *model.Desired) {
		off := true
		w.seeing(func(o *model.Observed) {
			if o.FirewallOff != nil {
				o.FirewallOff = &off
			}
		})
	})
	list.add("nothing is known of the cluster's firewall", func(w *world, _ *model.Desired) {
		w.seeing(func(o *model.Observed) {
			if o.Firewall != nil {
				o.Firewall = &model.ClusterFirewall{}
			}
		})
	})
	list.add("rules refer to what isn't there", func(_ *world, d *model.Desired) {
		for i, v := range d.VMs {
			if v.Firewall != nil {
				f := walls("in ACCEPT NONE", "group none", "in ACCEPT SSH")
				f.Rules[2].Source = "+none"
				d.VMs[i].Firewall = f
			}
		}
	})
	list.add("rules refer to what is of others", func(_ *world, d *model.Desired) {
		for i, v := range d.VMs {
			if v.Firewall != nil {
				f := walls("in ACCEPT SSH", "in ACCEPT SSH", "in ACCEPT SSH", "in ACCEPT SSH")
				for n, source := range []string{"+sdn/none", "+guest/none", "office", "+dc/blocked"} {
					f.Rules[n].Source = source
				}
				d.VMs[i].Firewall = f
			}
		}
	})
	list.add("its source is gone", func(w *world, _ *model.Desired) {
		for id, g := range w.Guests {
			if g.Name == "golden" {
				delete(w.Guests, id)
			}
		}
	})
	list.add("its source has no snapshot", func(w *world, _ *model.Desired) {
		for _, g := range w.Guests {
			if g.Name == "golden" {
				g.Snapshots = []model.SnapshotInfo{}
			}
		}
	})
	list.add("its source isn't wanted any more", func(_ *world, d *model.Desired) {
		d.VMs, d.Snapshots = slices.DeleteFunc(slices.Clone(d.VMs), func(v model.VM) bool { return v.Owner.Name == "golden" }), nil
	})
	list.add("its source is to go", func(_ *world, d *model.Desired) {
		for i := range d.VMs {
			d.VMs[i].Deleted = d.VMs[i].Deleted || d.VMs[i].Owner.Name == "golden"
		}
	})
	list.add("one less is wanted", func(_ *world, d *model.Desired) {
		for i := range d.Groups {
			d.Groups[i].Count, d.VMs = 1, d.VMs[:1]
		}
	})
	list.add("one less is wanted, and it may go", func(_ *world, d *model.Desired) {
		for i := range d.Groups {
			d.Groups[i].Count, d.Groups[i].ScaleDown, d.VMs = 1, true, d.VMs[:1]
		}
	})
	list.add("the group isn't wanted any more", func(_ *world, d *model.Desired) {
		if len(d.Groups) > 0 {
			d.Groups, d.VMs, d.Prune = nil, nil, true
		}
	})
	list.add("another of the group is away", func(w *world, _ *model.Desired) {
		w.seeing(func(o *model.Observed) {
			o.Elsewhere = map[string]model.Elsewhere{"web": {Known: true, Away: []model.Absent{{Key: owner("VirtualMachine", "elsewhere").Key}}}}
		})
	})
	return list
}

// TestWhateverHappensToMachinesOfEachKind: the same as of a plain machine, of those that need hooks, snippets, directories, devices, rules
// of a firewall, other machines or a count.
func TestWhateverHappensToMachinesOfEachKind(t *testing.T) {
	same := regexp.MustCompile(`^it is locked by|^a task works on it|was begun for it|^two guests were seen|^a step failed, and`) // as of a plain one
	list := slices.DeleteFunc(machineTroubles(), func(s situation) bool { return same.MatchString(s.name) })
	matrix(t, "machine-kinds", kindStages(), append(list, hostTroubles()...))
}
