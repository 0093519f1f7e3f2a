package plan

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan/stage"
	_ "github.com/proxplane/proxplane/test/kit/chance"
)

func TestTheLifeOfAFirewall(t *testing.T) {
	web, other := testVM("web"), testVM("other")
	web.NICs[0].Firewall = true
	web.Firewall = walls("in ACCEPT SSH", "group web", "in DROP")
	other.NICs[0].MAC = ""
	byHand := func(change func(*model.SeenFirewall)) func(*world, *model.Desired) {
		return func(w *world, _ *model.Desired) {
			for _, g := range w.Guests {
				if g.Name == "web" {
					change(g.Firewall)
				}
			}
		}
	}
	live(t, "firewall", newWorld(), desired(web, other),
		chapter{"made", func(*world, *model.Desired) {}},
		chapter{"a rule more, and one that changes", func(_ *world, d *model.Desired) {
			d.VMs[0].Firewall = walls("in ACCEPT HTTPS", "group mail", "in ACCEPT HTTP", "in DROP")
		}},
		chapter{"another policy, and one rule less", func(_ *world, d *model.Desired) {
			d.VMs[0].Firewall = walls("in ACCEPT HTTPS", "group mail", "in ACCEPT HTTP")
			d.VMs[0].Firewall.Options["policy_in"] = "REJECT"
		}},
		chapter{"another order", func(_ *world, d *model.Desired) { slices.Reverse(d.VMs[0].Firewall.Rules) }},
		chapter{"somebody adds a rule and turns it off", byHand(func(f *model.SeenFirewall) {
			f.Rules = slices.Insert(slices.Clone(f.Rules), 1, model.FirewallRule{Type: "in", Action: "ACCEPT"})
			f.Options = map[string]string{"dhcp": "0"}
		})},
		chapter{"a security group that isn't there", func(_ *world, d *model.Desired) { d.VMs[0].Firewall = walls("group none") }},
		chapter{"a macro that isn't there", func(_ *world, d *model.Desired) { d.VMs[0].Firewall = walls("in ACCEPT Nope") }},
		chapter{"an alias that isn't there", func(_ *world, d *model.Desired) {
			d.VMs[0].Firewall = walls("in ACCEPT")
			d.VMs[0].Firewall.Rules[0].Source = "dc/home"
		}},
		chapter{"an IP set that isn't there", func(_ *world, d *model.Desired) { d.VMs[0].Firewall.Rules[0].Source = "+nothing" }},
		chapter{"those that are there", func(_ *world, d *model.Desired) {
			d.VMs[0].Firewall.Rules[0].Source, d.VMs[0].Firewall.Rules[0].Dest = "dc/office", "+dc/blocked"
		}},
		chapter{"not described any more", func(_ *world, d *model.Desired) { d.VMs[0].Firewall = nil }},
		chapter{"of a machine that has none, by hand", func(w *world, _ *model.Desired) {
			for _, g := range w.Guests {
				g.Firewall = &model.SeenFirewall{Firewall: *walls("in ACCEPT SSH")}
			}
		}},
	)
}

// A firewall that is set already has no effect either while that of the cluster is off, and each plan says so.
func TestAFirewallWithoutEffectIsNotedByEachPlan(t *testing.T) {
	w, v := newWorld(), testVM("web")
	v.NICs[0].Firewall, v.Firewall = true, walls("in ACCEPT SSH")
	want := desired(v)
	notes := func() (texts []string) {
		p := w.plan(want)
		for _, n := range p.Objects[len(p.Objects)-1].Notes {
			texts = append(texts, n.Text)
		}
		return texts
	}
	w.settle(t, &want)
	if have := notes(); len(have) > 0 {
		t.Errorf("with the firewall of the cluster on: %q", have)
	}
	w.also = func(o *model.Observed) {
		if o.FirewallOff != nil {
			*o.FirewallOff = true
		}
	}
	if have := notes(); len(have) != 1 || !strings.HasPrefix(have[0], "the firewall of the cluster is off") {
		t.Errorf("with the firewall of the cluster off: %q", have)
	}
	want.VMs[0].NICs[0].Firewall = false
	if have := notes(); len(have) != 2 || !strings.HasSuffix(have[1], "has no effect on net0, which isn't under it") {
		t.Errorf("with an interface beside it: %q", have)
	}
	delete(want.VMs[0].Firewall.Options, "enable")
	w.settle(t, &want)
	if have := notes(); len(have) > 0 {
		t.Errorf("of a machine whose firewall is to be off: %q", have)
	}
}

// A machine is never started before its firewall is what it is to be, nor marked as up to date.
func TestNothingStartsWithoutItsFirewall(t *testing.T) {
	for _, blank := range []bool{false, true} {
		w := newWorld()
		v := testVM("web")
		v.Firewall = walls("in ACCEPT SSH")
		if blank {
			v.Source, v.Disks[0].Size = model.Source{Blank: true}, 1<<30
		}
		want := desired(v)
		for range 20 {
			p := w.plan(want)
			if p.Ready() {
				break
			}
			for _, s := range p.Objects[len(p.Objects)-1].Steps {
				if len(s.After) > 0 {
					continue
				}
				w.Do(s.Action)
				for _, g := range w.Guests {
					if g.Name != "web" || g.Firewall != nil && g.Firewall.On() {
						continue
					}
					if _, print, _ := model.ParseStateTag(g.Tags); print == v.At(g.VMID).Fingerprint() || g.Status == model.StatusRunning {
						t.Fatalf("after %T VM %d is %s with tags %v, and has no firewall yet", s.Action, g.VMID, g.Status, g.Tags)
					}
				}
			}
		}
		if p := w.plan(want); !p.Ready() {
			t.Errorf("it doesn't get there:\n%s", p)
		}
	}
}

// On() of a guest that nobody has told anything about its firewall is false.
func TestAFirewallThatIsNoneIsOff(t *testing.T) {
	if (*model.Firewall)(nil).On() || !walls().On() {
		t.Error("a firewall is on when it is there and enabled")
	}
}

// Edits give the rules that are wanted. While they are in force, each packet meets at any time what the
// old rules say, or what the new ones do.
func TestRuleEditsNeverOpenAHole(t *testing.T) {
	rule := rapid.Custom(func(t *rapid.T) model.FirewallRule {
		return model.FirewallRule{
			Type: "in", Action: rapid.SampledFrom([]string{"ACCEPT", "DROP"}).Draw(t, "action"),
			Macro: rapid.SampledFrom([]string{"", "A", "B", "AB"}).Draw(t, "macro"), Disabled: rapid.IntRange(0, 4).Draw(t, "disabled") == 0,
		}
	})
	verdict := func(rules []model.FirewallRule, packet string) string {
		for _, r := range rules {
			if !r.Disabled && (r.Macro == "" || strings.Contains(r.Macro, packet)) {
				return r.Action
			}
		}
		return "policy"
	}
	rapid.Check(t, func(t *rapid.T) {
		have, want := rapid.SliceOfN(rule, 0, 5).Draw(t, "have"), rapid.SliceOfN(rule, 0, 5).Draw(t, "want")
		inForce := rapid.Bool().Draw(t, "in force")
		now := have
		for _, e := range ruleEdits(have, want, inForce) {
			now = stage.Edited(now, e)
			for _, packet := range []string{"A", "B", "C"} {
				if v := verdict(now, packet); inForce && v != verdict(have, packet) && v != verdict(want, packet) {
					t.Fatalf("%s meets %s after %+v: %v", packet, v, e, now)
				}
			}
		}
		if !slices.Equal(now, want) {
			t.Fatalf("have %v, want %v", now, want)
		}
	})
}
