package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// rollCase is a little otherwise than four machines of a group that are all to be restarted.
type rollCase struct {
	name string
	do   func(want *model.Desired, have *model.Observed, guests []*model.Guest)
}

func rollCases() []rollCase {
	task := func(kind string) rollCase {
		return rollCase{"a task " + kind + " of one", func(_ *model.Desired, have *model.Observed, guests []*model.Guest) {
			have.Tasks = []model.Task{{UPID: "UPID:x", Type: kind, VMID: guests[1].VMID}}
		}}
	}
	type D = model.Desired
	type O = model.Observed
	type G = []*model.Guest
	list := []rollCase{
		{"plain", func(*D, *O, G) {}},
		{"restarts aren't agreed to", func(d *D, _ *O, _ G) { d.Allow.Restart = false }},
		{"two at once", func(d *D, _ *O, _ G) {
			for i := range d.VMs {
				d.VMs[i].Rollout.Max.Count = 2
			}
		}},
		{"half of them at once", func(d *D, _ *O, _ G) {
			for i := range d.VMs {
				d.VMs[i].Rollout.Max.Percent = 50
			}
		}},
		{"two at once, of all together", func(d *D, _ *O, _ G) {
			for i := range d.VMs {
				d.VMs[i].Rollout = model.Rollout{}
			}
			d.MaxUnavailable.Count = 2
		}},
		{"three at once in the group, two of all together", func(d *D, _ *O, _ G) {
			for i := range d.VMs {
				d.VMs[i].Rollout.Max.Count = 3
			}
			d.MaxUnavailable.Percent = 50
		}},
		{"no group", func(d *D, _ *O, _ G) {
			for i := range d.VMs {
				d.VMs[i].Rollout = model.Rollout{}
			}
		}},
		{"two groups", func(d *D, _ *O, _ G) { d.VMs[2].Rollout.Groups, d.VMs[3].Rollout.Groups = []string{"b"}, []string{"b"} }},
		{"the second is under way", func(d *D, o *O, _ G) { o.Rolling = map[Key]bool{d.VMs[1].Owner.Key: true} }},
		{"the second is under way, and two may be", func(d *D, o *O, _ G) {
			o.Rolling = map[Key]bool{d.VMs[1].Owner.Key: true}
			for i := range d.VMs {
				d.VMs[i].Rollout.Max.Count = 2
			}
		}},
		{"the second is off", func(_ *D, _ *O, g G) { g[1].Status = model.StatusStopped }},
		{"the second is to be off", func(d *D, _ *O, _ G) { d.VMs[1].Power = model.PowerOff }},
		{"the second may be as it is", func(d *D, _ *O, _ G) { d.VMs[1].Power = "" }},
		{"the second is paused", func(_ *D, _ *O, g G) { g[1].Status = model.StatusPaused }},
		{"the state of the second isn't known", func(_ *D, _ *O, g G) { g[1].Status = model.StatusUnknown }},
		{"the state of the second may be old", func(_ *D, _ *O, g G) { g[1].StalePower = true }},
		{"the state of the second may be old, which is enough", func(d *D, _ *O, g G) { g[1].StalePower, d.Quick = true, true }},
		{"the agent of the second is silent", func(_ *D, _ *O, g G) { g[1].Agent, g[1].Addresses = model.AgentDown, nil }},
		{"the agent of the second wasn't asked", func(_ *D, _ *O, g G) { g[1].Agent, g[1].Addresses = model.AgentUnasked, nil }},
		{"the second has no agent", func(_ *D, _ *O, g G) {
			g[1].Agent, g[1].Addresses = model.AgentDown, nil
			delete(g[1].Config.Options, "agent")
		}},
		{"nobody waits for an address of the second", func(d *D, _ *O, g G) { g[1].Agent, g[1].Addresses, d.VMs[1].WaitAddress = model.AgentDown, nil, false }},
		{"the second has no agent, and nobody has seen it run", func(_ *D, _ *O, g G) {
			g[1].Agent, g[1].Addresses, g[1].Unseen = model.AgentDown, nil, true
			delete(g[1].Config.Options, "agent")
		}},
		{"nobody waits for an address of the second, and nobody has seen it run", func(d *D, _ *O, g G) {
			g[1].Agent, g[1].Addresses, g[1].Unseen, d.VMs[1].WaitAddress = model.AgentDown, nil, true, false
		}},
		{"the first is silent", func(_ *D, _ *O, g G) { g[0].Agent, g[0].Addresses = model.AgentDown, nil }},
		{"all are silent", func(_ *D, _ *O, g G) {
			for _, one := range g {
				one.Agent, one.Addresses = model.AgentDown, nil
			}
		}},
		{"all are silent, and the third is under way", func(d *D, o *O, g G) {
			for _, one := range g {
				one.Agent, one.Addresses = model.AgentDown, nil
			}
			o.Rolling = map[Key]bool{d.VMs[2].Owner.Key: true}
		}},
		{"one in another namespace is away", func(_ *D, o *O, _ G) {
			o.Elsewhere = map[string]model.Elsewhere{"a": {Guests: 1, Known: true, Away: []model.Absent{{Key: Key{Kind: "VirtualMachine", Namespace: "other", Name: "x"}}}}}
		}},
		{"whether one in another namespace is away isn't known", func(_ *D, o *O, _ G) {
			o.Elsewhere = map[string]model.Elsewhere{"a": {Guests: 1}}
		}},
		{"all are silent, and one of two in another namespace is under way", func(_ *D, o *O, g G) {
			for _, one := range g {
				one.Agent, one.Addresses = model.AgentDown, nil
			}
			o.Elsewhere = map[string]model.Elsewhere{"a": {Guests: 2, Known: true, Away: []model.Absent{
				{Key: Key{Kind: "VirtualMachine", Namespace: "other", Name: "silent"}}, {Key: Key{Kind: "VirtualMachine", Namespace: "other", Name: "busy"}, UnderWay: true},
			}}}
		}},
		{"the second isn't read", func(_ *D, _ *O, g G) { g[1].Config = nil }},
		{"the first isn't read", func(_ *D, _ *O, g G) { g[0].Config = nil }},
		{"the second is to go", func(d *D, _ *O, _ G) { d.VMs[1].Deleted = true }},
		{"the first is to go", func(d *D, _ *O, _ G) { d.VMs[0].Deleted = true }},
		{"the second is held", func(d *D, _ *O, _ G) { d.VMs[1].Hold = model.Hold{Reason: "Paused", Text: "it is paused"} }},
		{"the first is held", func(d *D, _ *O, _ G) { d.VMs[0].Hold = model.Hold{Reason: "Paused", Text: "it is paused"} }},
		{"the second isn't there", func(_ *D, o *O, g G) { delete(o.Guests, g[1].VMID); o.Index() }},
		{"the second isn't there, and was", func(d *D, o *O, g G) { delete(o.Guests, g[1].VMID); o.Index(); d.VMs[1].Remembered = g[1].VMID }},
		{"the second isn't there, and is held", func(d *D, o *O, g G) {
			delete(o.Guests, g[1].VMID)
			o.Index()
			d.VMs[1].Hold = model.Hold{Reason: "Paused", Text: "it is paused"}
		}},
		{"the second isn't there, and can't be", func(d *D, o *O, g G) {
			delete(o.Guests, g[1].VMID)
			o.Index()
			d.VMs[1].Source.Image.Name = "nowhere"
		}},
		{"the second is being made", func(_ *D, _ *O, g G) {
			g[1].Config, g[1].Tags, g[1].Lock = &model.Config{Half: true, Options: map[string]string{}}, nil, "clone"
		}},
		{"the second is locked", func(_ *D, _ *O, g G) { g[1].Lock = "backup" }},
		{"the second has ignored its shutdown", func(d *D, o *O, _ G) { o.Ignored = map[Key]bool{d.VMs[0].Owner.Key: true} }},
		{"the second has ignored its shutdown, and may be stopped", func(d *D, o *O, _ G) {
			o.Ignored, d.Allow.Stop = map[Key]bool{d.VMs[0].Owner.Key: true}, true
		}},
		{"the first is to be off, which it has ignored", func(d *D, o *O, _ G) {
			o.Ignored, d.VMs[0].Power = map[Key]bool{d.VMs[0].Owner.Key: true}, model.PowerOffGraceful
		}},
		{"the second is to be replaced", func(d *D, _ *O, g G) { g[1].Config.Marker.Source, d.Allow.Replace = "vmimage/older", true }},
		{"the node of the second is off", func(_ *D, o *O, g G) { n := *o.Nodes[g[1].Node]; n.Online = false; o.Nodes[g[1].Node] = &n }},
		{"in another order", func(d *D, _ *O, _ G) { slices.Reverse(d.VMs) }},
		{"half of them, with two in another namespace", func(d *D, o *O, _ G) {
			for i := range d.VMs {
				d.VMs[i].Rollout.Max.Percent = 50
			}
			o.Elsewhere = map[string]model.Elsewhere{"a": {Guests: 2, Known: true}}
		}},
		{"the second is up to date", func(d *D, _ *O, _ G) { d.VMs[1].Options = map[string]string{"cores": "4", "memory": "4096"} }},
	}
	for _, kind := range []string{"qmstart", "qmshutdown", "qmrollback", "vzdump", "qmclone"} {
		list = append(list, task(kind))
	}
	return list
}

// TestWhoIsRestartedFirst: the plan for machines of a group that are all to be restarted, as it is done and as it is foreseen.
func TestWhoIsRestartedFirst(t *testing.T) {
	var b strings.Builder
	seen := map[string]string{}
	base := newWorld()
	four := func() (vms []model.VM) {
		for i := range 4 {
			v := testVM(fmt.Sprintf("web-%d", i+1))
			v.NICs = slices.Clone(v.NICs)
			v.NICs[0].MAC, v.Rollout.Groups = "", []string{"a"}
			vms = append(vms, v)
		}
		return vms
	}
	p := converge(quiet{t}, base, desired(four()...))
	for _, c := range rollCases() {
		for _, foresee := range []bool{false, true} {
			w, vms := base.copy(), four()
			look := Look{Files: true, HA: true, Volumes: true, Bridges: []string{"pve1", "pve2", "pve3"}, Rights: []string{"/vms"}}
			for id := range w.Guests {
				look.Configs, look.Snapshots, look.Agents, look.Status = append(look.Configs, id), append(look.Snapshots, id), append(look.Agents, id), append(look.Status, id)
			}
			have := w.observe(look)
			var guests []*model.Guest
			for i := range vms {
				guests = append(guests, have.Guests[p.object(t, vms[i].Owner.Name).VMID])
				vms[i].Options = map[string]string{"cores": "6", "memory": "4096"}
			}
			want := desired(vms...)
			want.Allow.Restart, want.Foresee = true, foresee
			c.do(&want, have, guests)
			var text strings.Builder
			tell(&text, For(want, have), nil)
			name := c.name
			if foresee {
				name += ", foreseen"
			}
			if as, before := seen[text.String()]; before {
				fmt.Fprintf(&b, "# %s: as %s\n", name, as)
				continue
			}
			seen[text.String()] = name
			fmt.Fprintf(&b, "# %s\n%s", name, text.String())
		}
	}
	golden.Compare(t, "lives/rolls.golden", b.String())
}
