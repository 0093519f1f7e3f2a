package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// Where nobody says whether there is a guest agent, the template does. Without it no address is waited for: so a guest
// whose agent somebody has switched off would seem to be ready.
func TestAnAgentThatSomebodyHasSwitchedOffIsNotSilent(t *testing.T) {
	for _, c := range []struct {
		reason string
		change func(w *world, v *model.VM)
		set    string // by the next plan
		note   bool
	}{
		{reason: "a template that people made has it", change: func(*world, *model.VM) {}, note: true},
		{reason: "a template of ours has it", change: func(w *world, _ *model.VM) {
			w.Guests[9000].Config.Marker = &model.Marker{Owner: testVM("img").Owner, Version: "1"}
		}, set: "1"},
		{reason: "the template hasn't it either", change: func(w *world, _ *model.VM) { delete(w.Guests[9000].Config.Options, "agent") }},
		{reason: "the template isn't there any more", change: func(w *world, _ *model.VM) {
			delete(w.Guests, 9000)
			w.template(9003, "ubuntu-22-template", "pve1", "nfs")
		}},
		{reason: "its node is offline", change: func(w *world, _ *model.VM) { w.Guests[9000].Node, w.Nodes["pve3"].Online = "pve3", false }},
		{reason: "it is declared", change: func(_ *world, v *model.VM) { v.Options["agent"] = "1" }, set: "1"},
		{reason: "it is declared to be off", change: func(_ *world, v *model.VM) { v.Options["agent"] = "" }},
	} {
		w := newWorld()
		v := testVM("web")
		converge(t, w, desired(v))
		for _, g := range w.Guests {
			if !g.Template {
				delete(g.Config.Options, "agent")
			}
		}
		c.change(w, &v)
		p := w.plan(desired(v))
		o := p.Objects[2]
		set := ""
		for _, s := range o.Steps {
			if a, ok := s.Action.(model.Configure); ok {
				set = a.Set["agent"]
			}
		}
		noted := slices.ContainsFunc(o.Notes, func(n Note) bool { return strings.Contains(n.Text, "guest agent") })
		if set != c.set || noted != c.note || !o.Look.Empty() {
			t.Errorf("%s: agent is set to %q, noted %v\n%s", c.reason, set, noted, p)
		}
	}
}
