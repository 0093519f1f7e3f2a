package terraform

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// effects says what a plan does to machines that are there, and what it can't do. What is so of several machines of a resource is
// said once, with a line for each.
func effects(w part, objects []plan.Object) (diags diag.Diagnostics) {
	var all effectList
	for _, o := range objects {
		if !w.has(o.Owner) {
			continue // an image that a machine is made from; the machine says what is wrong with it
		}
		name := o.Owner.Name
		for _, refused := range o.Refused {
			all.add(notAllowed, name, attributesIn(status.Terraform.Of(plan.Object{Refused: []plan.Refusal{refused}}).Message))
		}
		if o.Wait != nil && o.Wait.Reason.Blocks() {
			all.add(blocked, name, attributesIn(status.Terraform.Wait(*o.Wait)))
		}
		if g, lines := gravest(o.Steps); g != nil {
			all.add(g, name, lines...)
		}
		for _, n := range o.Notes {
			all.add(noted, name, attributesIn(status.Terraform.Note(n)))
		}
	}
	for _, e := range all {
		summary, text := e.told()
		if e.kind == notAllowed || e.kind == blocked {
			diags.AddError(summary, text+plansFirst)
		} else {
			diags.AddWarning(summary, text)
		}
	}
	return diags
}

// plansFirst ends what keeps a plan from being made: who wants to destroy all of it would be told the same.
const plansFirst = "\n\nThe destroy command plans first, too: with -refresh=false it doesn't."

// effectKind is something that people should know of before they agree, with the words for one machine and for several.
type effectKind struct {
	effect    plan.Effect
	one, many string
}

// gravity are the effects of steps, the gravest first.
var gravity = []*effectKind{
	{plan.LosesData, " loses data", " lose data"},
	{plan.Replace, " is destroyed and made anew", " are destroyed and made anew"},
	{plan.Restart, " is restarted", " are restarted"},
	{plan.PowerOff, " is powered off", " are powered off"},
	{plan.Moves, " goes to another node", " go to another node"},
	{plan.Partly, " takes over some changes at its next start only", " take over some changes at their next start only"},
	{plan.Later, " takes over a change at its next start only", " take over a change at their next start only"},
}

var (
	notAllowed = &effectKind{one: ": change not allowed", many: ": change not allowed"}
	blocked    = &effectKind{one: ": blocked", many: ": blocked"}
	noted      = &effectKind{one: ": note", many: ": note"}
)

// effectOn is an effect with the machines that it is about, and a text about each.
type effectOn struct {
	kind         *effectKind
	names, lines []string
}

type effectList []*effectOn

// add notes an effect on a machine. Texts about one machine belong together.
func (l *effectList) add(kind *effectKind, name string, lines ...string) {
	var e *effectOn
	for _, one := range *l {
		if one.kind == kind {
			e = one
		}
	}
	if e == nil {
		e = &effectOn{kind: kind}
		*l = append(*l, e)
	}
	for _, line := range lines {
		e.names, e.lines = append(e.names, name), append(e.lines, line)
	}
}

// told is the effect as a diagnostic says it.
func (e *effectOn) told() (summary, text string) {
	machines := map[string]bool{}
	for _, name := range e.names {
		machines[name] = true
	}
	if others := len(machines) - 1; others == 1 {
		summary = e.names[0] + " and another one" + e.kind.many
	} else if others > 1 {
		summary = fmt.Sprintf("%s and %d others%s", e.names[0], others, e.kind.many)
	} else {
		return e.names[0] + e.kind.one, strings.Join(e.lines, "\n")
	}
	lines := make([]string, len(e.lines))
	for i, line := range e.lines {
		lines[i] = e.names[i] + ": " + line
	}
	return summary, strings.Join(lines, "\n")
}

// gravest is the gravest effect of some steps, and all steps that people should know of; nil: there are none.
func gravest(steps []plan.Step) (kind *effectKind, lines []string) {
	for _, g := range gravity {
		for _, s := range steps {
			if s.Effect != g.effect {
				continue
			}
			if kind == nil {
				kind = g
			}
			lines = append(lines, sentence(s))
		}
	}
	return kind, lines
}
