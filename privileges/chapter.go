package privileges

import (
	"maps"
	"slices"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// chapter is something that happens to what is wanted, or to what is there.
type chapter func(l *life, want *model.Desired)

// wholeLife returns all that happens, in this order. After each chapter, plans put everything right.
func wholeLife() []chapter {
	return []chapter{
		begun, grown, drifted, misplaced, powered(model.PowerOn), moved, sent, reached, paused, powered(model.PowerOffGraceful), powered(model.PowerOn),
		powered(model.PowerOff), moved, sent, powered(model.PowerOn), reverted, withoutSnapshots, withoutGuests, withoutImages,
	}
}

// firstDays returns the chapters that depend on nodes and storages.
func firstDays() []chapter {
	return []chapter{begun, grown, drifted, withoutSnapshots, withoutGuests, withoutImages}
}

// settled returns what is wanted without what keeps it from being done now.
func settled(want model.Desired) model.Desired {
	want.VMs, want.Images = slices.Clone(want.VMs), slices.Clone(want.Images)
	want.Snapshots, want.Shares = slices.Clone(want.Snapshots), slices.Clone(want.Shares)
	for i := range want.VMs {
		v := &want.VMs[i]
		v.Hold, v.Remembered, v.Had, v.Deleted, v.Rollout = model.Hold{}, 0, nil, false, model.Rollout{}
	}
	for i := range want.Images {
		want.Images[i].Hold, want.Images[i].Deleted = model.Hold{}, false
	}
	for i := range want.Snapshots {
		want.Snapshots[i].Hold, want.Snapshots[i].Deleted = model.Hold{}, false
	}
	for i := range want.Shares {
		want.Shares[i].Deleted = false
	}
	want.Groups, want.Seen, want.Prune, want.Quick, want.Foresee, want.Moves, want.MaxUnavailable = nil, nil, false, false, false, nil, model.Limit{}
	want.Allow = model.Allow{Restart: true, Replace: true, Data: true}
	return want
}

// pinned returns what is wanted, with everything on one node that may go there.
func pinned(want model.Desired, node string) model.Desired {
	want.VMs, want.Images = slices.Clone(want.VMs), slices.Clone(want.Images)
	for i := range want.VMs {
		p := want.VMs[i].Place
		if len(p.Nodes) == 0 || slices.Contains(p.Nodes, node) {
			want.VMs[i].Place = model.Place{Nodes: []string{node}, Where: p.Where, Facts: p.Facts}
		}
	}
	for i := range want.Images {
		want.Images[i].Ahead = []string{node}
	}
	return want
}

// alone: no other node is online, so that images are fetched by this one.
func alone(node string) chapter {
	return func(l *life, _ *model.Desired) {
		for name, n := range l.w.Nodes {
			n.Online = name == node
		}
	}
}

// begun: everything is made.
func begun(*life, *model.Desired) {}

// grown: what is wanted of disks and the text has changed.
func grown(_ *life, want *model.Desired) {
	const more = 1 << 30
	want.VMs = slices.Clone(want.VMs)
	for i := range want.VMs {
		v := &want.VMs[i]
		v.Description, v.Tags, v.Disks = v.Description+" changed", append(slices.Clone(v.Tags), "changed"), slices.Clone(v.Disks)
		for d := range v.Disks {
			if v.Disks[d].Size > 0 {
				v.Disks[d].Size += more
			}
		}
		if v.Seed != nil {
			seed := *v.Seed
			seed.Digest += "0"
			v.Seed = &seed
		}
	}
}

// someValue is a value that somebody has set by hand. What it takes to change it isn't known.
const someValue = "?"

// drifted: somebody has taken everything away from guests that their manifests name, and set
// what is to be absent.
func drifted(l *life, want *model.Desired) {
	for _, v := range want.VMs {
		for _, g := range l.guestsOf(v) {
			c := g.Config
			c.Options, c.Text = maps.Clone(c.Options), "by hand"
			for k, value := range v.At(g.VMID).Options {
				if delete(c.Options, k); value == "" {
					c.Options[k] = someValue
				}
			}
			c.NICs = slices.DeleteFunc(slices.Clone(c.NICs), func(n model.NIC) bool {
				return slices.ContainsFunc(v.NICs, func(o model.NIC) bool { return o.Slot == n.Slot })
			})
			c.Disks = slices.DeleteFunc(slices.Clone(c.Disks), func(d model.Disk) bool {
				return slices.ContainsFunc(v.Disks, func(o model.Disk) bool { return o.Slot == d.Slot && (o.CDROM || !v.Source.Blank) })
			})
			c.Options["name"] = "by-hand"
			g.Firewall = &model.SeenFirewall{Firewall: model.Firewall{Rules: []model.FirewallRule{{Type: "in", Action: "DROP", Comment: "by hand"}}}}
			if v.HA != nil {
				g.HAState, g.Status = model.HAError, model.StatusStopped
			}
			l.w.Changed(g)
			if id := haName(g.VMID); l.w.HA[id] != nil {
				l.w.HA[id] = map[string]string{"max_restart": "9", "max_relocate": "9"}
			}
		}
	}
	for name, d := range l.w.Dirs {
		if d.Made {
			d.Paths = nil
			l.w.Dirs[name] = d
		}
	}
}

// powered: guests are to run, or not.
func powered(p model.Power) chapter {
	return func(_ *life, want *model.Desired) {
		want.VMs = slices.Clone(want.VMs)
		for i := range want.VMs {
			want.VMs[i].Power = p
		}
	}
}

// paused: somebody has paused guests.
func paused(l *life, want *model.Desired) {
	for _, v := range want.VMs {
		for _, g := range l.guestsOf(v) {
			g.Status = model.StatusPaused
		}
	}
}

// reverted: guests are to go back to their snapshots.
func reverted(_ *life, want *model.Desired) {
	want.Snapshots = slices.Clone(want.Snapshots)
	for i := range want.Snapshots {
		if want.Snapshots[i].Revert != "" {
			want.Snapshots[i].Revert += " again"
		}
	}
}

// reached: somebody runs programs in guests, or reads files there.
func reached(l *life, want *model.Desired) {
	for _, v := range want.VMs {
		for _, g := range l.guestsOf(v) {
			at := model.Target{VMID: g.VMID, Node: g.Node}
			for _, a := range []model.Action{model.Exec{Target: at, Owner: v.Owner}, model.ReadFile{Target: at, Owner: v.Owner}} {
				if slices.Contains(l.at.Inside, model.FactsOf(a).Kind) {
					l.note(plan.Object{Owner: v.Owner}, a)
				}
			}
		}
	}
}

func withoutSnapshots(_ *life, want *model.Desired) {
	want.Snapshots = slices.Clone(want.Snapshots)
	for i := range want.Snapshots {
		want.Snapshots[i].Deleted = true
	}
}

// withoutGuests: all guests are to go, which may take their time, with what only they use.
func withoutGuests(_ *life, want *model.Desired) {
	want.VMs, want.Shares = slices.Clone(want.VMs), slices.Clone(want.Shares)
	for i := range want.Shares {
		want.Shares[i].Deleted = true
	}
	for i := range want.VMs {
		want.VMs[i].Deleted, want.VMs[i].Grace = true, time.Second
	}
}

func withoutImages(_ *life, want *model.Desired) {
	want.Images = slices.Clone(want.Images)
	for i := range want.Images {
		want.Images[i].Deleted = true
	}
}

// guestsOf returns the guests of an owner in the invented cluster.
func (l *life) guestsOf(v model.VM) []*model.Guest {
	var list []*model.Guest
	for _, g := range l.w.Guests {
		if g.OwnedBy(v.Owner) {
			list = append(list, g)
		}
	}
	return list
}
