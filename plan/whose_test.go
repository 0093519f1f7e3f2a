package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// guestCase is a guest that is there, and what else is then.
type guestCase struct {
	name string
	do   func(g *model.Guest, have *model.Observed)
}

// guestCases are guests of which it matters whose they are, and what happens to them.
func guestCases(mine model.Owner) []guestCase {
	mark := func(g *model.Guest, o model.Owner) {
		g.Config.Marker = &model.Marker{Owner: o, VMID: g.VMID, Source: "vmimage/ubuntu-22"}
		g.Tags = []string{model.Tag, model.TagPrefix + o.ID() + ".abc"}
		g.Config.Tags = g.Tags
	}
	other, elsewhere, former := owner("VirtualMachine", "other"), mine, mine
	elsewhere.Set = "elsewhere"
	former.UID = "gone"
	half := func(g *model.Guest, lock string) {
		g.Config = &model.Config{Half: true, Options: map[string]string{}}
		g.Tags, g.Lock = nil, lock
	}
	task := func(have *model.Observed, kind string, vmid int) {
		have.Tasks = append(have.Tasks, model.Task{UPID: "UPID:" + kind, Node: "pve1", Type: kind, VMID: vmid})
	}
	ours := func(name string, more func(g *model.Guest, have *model.Observed)) guestCase {
		return guestCase{"ours, " + name, func(g *model.Guest, have *model.Observed) {
			mark(g, mine)
			more(g, have)
		}}
	}
	return []guestCase{
		{"somebody else's", func(*model.Guest, *model.Observed) {}},
		{"somebody else's template", func(g *model.Guest, _ *model.Observed) { g.Template = true }},
		{"somebody else's container", func(g *model.Guest, _ *model.Observed) { g.Container = true }},
		{"another object's", func(g *model.Guest, _ *model.Observed) { mark(g, other) }},
		{"another set's", func(g *model.Guest, _ *model.Observed) { mark(g, elsewhere) }},
		{"a former object's", func(g *model.Guest, _ *model.Observed) { mark(g, former) }},
		{"unread", func(g *model.Guest, _ *model.Observed) { g.Config = nil }},
		{"unread, with the tag of another object", func(g *model.Guest, _ *model.Observed) {
			g.Config, g.Tags = nil, []string{model.Tag, model.TagPrefix + other.ID() + ".abc"}
		}},
		{"unread, with our tag", func(g *model.Guest, _ *model.Observed) {
			g.Config, g.Tags = nil, []string{model.Tag, model.TagPrefix + mine.ID() + ".abc"}
		}},
		{"unread and nameless", func(g *model.Guest, _ *model.Observed) { g.Config, g.Name = nil, fmt.Sprintf("VM %d", g.VMID) }},
		{"with our tag and no marker", func(g *model.Guest, _ *model.Observed) { mark(g, mine); g.Config.Marker = nil }},
		{"with our MAC address", func(g *model.Guest, _ *model.Observed) { g.Config.NICs[0].MAC = "02:00:00:aa:bb:cc" }},
		{"with our MAC address, a template", func(g *model.Guest, _ *model.Observed) {
			g.Config.NICs[0].MAC, g.Template = "02:00:00:AA:BB:CC", true
		}},
		{"with our MAC address, a container", func(g *model.Guest, _ *model.Observed) {
			g.Config.NICs[0].MAC, g.Container = "02:00:00:AA:BB:CC", true
		}},
		{"with our name", func(g *model.Guest, _ *model.Observed) { g.Name = "web"; g.Config.Options["name"] = "web" }},
		{"half made", func(g *model.Guest, _ *model.Observed) { half(g, "clone") }},
		{"half made while a clone runs", func(g *model.Guest, have *model.Observed) { half(g, "clone"); task(have, "qmclone", 9000) }},
		{"half destroyed", func(g *model.Guest, _ *model.Observed) { half(g, "destroyed") }},
		{"half destroyed while a clone runs", func(g *model.Guest, have *model.Observed) { half(g, "destroyed"); task(have, "qmclone", 9000) }},
		{"half destroyed while it is destroyed", func(g *model.Guest, have *model.Observed) { half(g, "destroyed"); task(have, "qmdestroy", g.VMID) }},
		{"half destroyed while another one is", func(g *model.Guest, have *model.Observed) { half(g, "destroyed"); task(have, "qmdestroy", 9900) }},
		{"being restored elsewhere", func(_ *model.Guest, have *model.Observed) {
			have.Guests[7000] = &model.Guest{VMID: 7000, Node: "pve2", Lock: "create", Name: "VM 7000"}
			task(have, "qmrestore", 7000)
		}},
		{"restored elsewhere, half", func(_ *model.Guest, have *model.Observed) {
			have.Guests[7000] = &model.Guest{VMID: 7000, Node: "pve2", Lock: "create", Name: "x", Config: &model.Config{Half: true, Options: map[string]string{}}}
			task(have, "qmrestore", 7000)
		}},
		{"a backup is made elsewhere", func(_ *model.Guest, have *model.Observed) {
			have.Guests[7000] = &model.Guest{VMID: 7000, Node: "pve2", Lock: "backup", Name: "VM 7000"}
			task(have, "vzdump", 7000)
		}},
		ours("stopped", func(g *model.Guest, _ *model.Observed) { g.Status = model.StatusStopped }),
		ours("running", func(*model.Guest, *model.Observed) {}),
		ours("paused", func(g *model.Guest, _ *model.Observed) { g.Status = model.StatusPaused }),
		ours("of unknown state", func(g *model.Guest, _ *model.Observed) { g.Status = model.StatusUnknown }),
		ours("of a state that may be old", func(g *model.Guest, _ *model.Observed) { g.StalePower = true }),
		ours("locked", func(g *model.Guest, _ *model.Observed) { g.Lock = "backup" }),
		ours("on a node that is off", func(g *model.Guest, have *model.Observed) { have.Nodes[g.Node].Online = false }),
		ours("on a node that isn't known", func(g *model.Guest, _ *model.Observed) { g.Node = "pve9" }),
		ours("while it shuts down", func(g *model.Guest, have *model.Observed) { task(have, "qmshutdown", g.VMID) }),
		ours("while it reboots", func(g *model.Guest, have *model.Observed) { task(have, "qmreboot", g.VMID) }),
		ours("while it is copied", func(g *model.Guest, have *model.Observed) { task(have, "qmclone", g.VMID) }),
		ours("while it is backed up", func(g *model.Guest, have *model.Observed) { task(have, "vzdump", g.VMID) }),
		ours("with an old process", func(g *model.Guest, _ *model.Observed) { g.Stray = true }),
		ours("after a failure", func(_ *model.Guest, have *model.Observed) {
			have.Failed = map[Key]model.Failure{mine.Key: {What: "start VM", Text: "no", Next: have.At.Add(time.Minute)}}
		}),
		ours("some time after a failure", func(_ *model.Guest, have *model.Observed) {
			have.Failed = map[Key]model.Failure{mine.Key: {What: "start VM", Text: "no", Next: have.At}}
		}),
		ours("protected", func(g *model.Guest, _ *model.Observed) { g.Config.Options["protection"] = "1" }),
		ours("protected by its manifest before", func(g *model.Guest, _ *model.Observed) {
			g.Config.Options["protection"], g.Config.Marker.Managed = "1", []string{"protection"}
		}),
		ours("under HA", func(g *model.Guest, _ *model.Observed) { g.HAState = "started" }),
		ours("adopted by a manifest that says Delete", func(g *model.Guest, _ *model.Observed) { g.Config.Marker.Adopted = true }),
		ours("to be retained", func(g *model.Guest, _ *model.Observed) { g.Config.Marker.Retain = true }),
		ours("made from another image", func(g *model.Guest, _ *model.Observed) { g.Config.Marker.Source = "vmimage/older" }),
		ours("with first-boot data", func(g *model.Guest, have *model.Observed) {
			g.Config.Marker.Seed = "nfs:iso/proxplane-1-aaaaaaaaaaaa.iso"
			have.Files = map[string]model.File{"nfs:iso/proxplane-1-aaaaaaaaaaaa.iso": {Volume: "nfs:iso/proxplane-1-aaaaaaaaaaaa.iso", Node: "pve1", Content: "iso"}}
		}),
		ours("with a signed marker", func(g *model.Guest, have *model.Observed) { have.Keyed, g.Config.Signed = true, model.Signed }),
		ours("with a forged marker", func(g *model.Guest, have *model.Observed) { have.Keyed, g.Config.Signed = true, model.Forged }),
		ours("beside another one that says the same", func(g *model.Guest, have *model.Observed) {
			twin := *g
			twin.VMID = 5950
			have.Guests[twin.VMID] = &twin
		}),
		ours("a template", func(g *model.Guest, _ *model.Observed) { g.Template, g.Status = true, model.StatusStopped }),
	}
}

// TestWhoseAGuestIsAndWhatBecomesOfIt: guests of all kinds, under a VMID that a manifest names, that was written down, that is derived
// or that is none of the object's; wanted, to go, or no longer named.
func TestWhoseAGuestIsAndWhatBecomesOfIt(t *testing.T) {
	v := testVM("web")
	derived := 0
	for id := range v.Owner.Candidates(v.Range) {
		derived = id
		break
	}
	var b strings.Builder
	seen := map[string]string{}
	for _, c := range guestCases(v.Owner) {
		fmt.Fprintf(&b, "# %s\n", c.name)
		for _, how := range []struct {
			name string
			vmid int
			want func(*model.VM)
		}{
			{"derived", derived, func(*model.VM) {}},
			{"named", 5900, func(v *model.VM) { v.VMID = 5900 }},
			{"remembered", 5900, func(v *model.VM) { v.Remembered = 5900 }},
			{"neither", 5900, func(*model.VM) {}},
			{"derived, to go", derived, func(v *model.VM) { v.Deleted = true }},
			{"derived, to go, having some time", derived, func(v *model.VM) { v.Deleted, v.Grace, v.Options["protection"] = true, time.Minute, "" }},
			{"named, to go", 5900, func(v *model.VM) { v.Deleted, v.VMID = true, 5900 }},
			{"remembered, to go", 5900, func(v *model.VM) { v.Deleted, v.Remembered = true, 5900 }},
			{"neither, to go", 5900, func(v *model.VM) { v.Deleted = true }},
			{"derived, to be let go", derived, func(v *model.VM) { v.Deleted, v.Retain = true, true }},
			{"derived, may be replaced", derived, func(v *model.VM) { v.Update = model.Allow{Replace: true, Restart: true, Data: true} }},
			{"derived, pruned", derived, nil},
			{"neither, pruned", 5900, nil},
		} {
			want := desired()
			if how.want == nil {
				want.Prune = true
			} else {
				one := testVM("web")
				how.want(&one)
				want = desired(one)
			}
			have := whoseWorld(how.vmid)
			c.do(have.Guests[how.vmid], have)
			p := For(want, have)
			var text strings.Builder
			tell(&text, p, nil)
			if left, unread := Unnamed(want, have); len(left)+len(unread) > 0 {
				fmt.Fprintf(&text, "unread %v", unread)
				for _, l := range left {
					fmt.Fprintf(&text, ", left behind: VM %d of %s, proved %t, retained %t", l.Guest.VMID, l.Owner.Key, l.Proved, l.Retained)
				}
				text.WriteString("\n")
			}
			said := strings.TrimPrefix(strings.ReplaceAll(text.String(), "up to date: vmimage/ubuntu-22, vmimage/other\n", ""), "\n")
			if as, before := seen[said]; before {
				fmt.Fprintf(&b, "## %s: as %s\n", how.name, as)
				continue
			}
			seen[said] = c.name + ": " + how.name
			fmt.Fprintf(&b, "## %s\n%s", how.name, said)
		}
		b.WriteString("\n")
	}
	golden.Compare(t, "lives/whose.golden", b.String())
}

// whoseWorld has a guest under a VMID, all of which is read.
func whoseWorld(vmid int) *model.Observed {
	w := newWorld()
	w.template(vmid, "there", "pve1", "nfs")
	g := w.Guests[vmid]
	g.Template, g.Status, g.Agent, g.Addresses = false, model.StatusRunning, model.AgentUp, append(g.Addresses, testAddress)
	look := Look{Configs: []int{vmid, 9000}, Snapshots: []int{vmid}, Agents: []int{vmid}, Status: []int{vmid, 9000}, Files: true, Snippets: true, Dirs: true, HA: true,
		Bridges: []string{"pve1", "pve2", "pve3"}, Rights: []string{"/vms"}}
	return w.observe(look)
}
