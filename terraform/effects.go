package terraform

import (
	"fmt"
	"slices"
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
			all.because(notAllowed, w.causesOf(refused.Diff))
		}
		if o.Wait != nil && o.Wait.Reason.Blocks() {
			all.add(blocked, name, attributesIn(status.Terraform.Wait(*o.Wait)))
		}
		if g, steps := gravest(o.Steps); g != nil {
			for _, s := range steps {
				all.add(g, name, sentence(s))
				all.because(g, w.causesOf(s.Diff))
			}
		}
		for _, s := range o.Steps {
			if atFirstBoot(s) {
				all.add(unseen, name, sentence(s))
				all.because(unseen, w.causesOf(s.Diff))
			}
		}
		for _, n := range o.Notes {
			all.add(noted, name, attributesIn(status.Terraform.Note(n)))
		}
	}
	for _, e := range all {
		e.causes = withoutWhole(e.causes)
		summary, text := e.told()
		where, known := at(e.causes)
		switch wrong := e.kind == notAllowed || e.kind == blocked; {
		case wrong && known:
			diags.AddAttributeError(where, summary, text+plansFirst)
		case wrong:
			diags.AddError(summary, text+plansFirst)
		case known:
			diags.AddAttributeWarning(where, summary, text)
		default:
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
	advice    string
}

// gravity are the effects of steps, the gravest first.
var gravity = []*effectKind{
	{effect: plan.LosesData, one: " loses data", many: " lose data"},
	{effect: plan.Replace, one: " is destroyed and made anew", many: " are destroyed and made anew"},
	{effect: plan.Restart, one: " is restarted", many: " are restarted"},
	{effect: plan.PowerOff, one: " is powered off", many: " are powered off"},
	{effect: plan.Moves, one: " goes to another node", many: " go to another node"},
	{effect: plan.Partly, one: " takes over some changes at its next start only", many: " take over some changes at their next start only"},
	{effect: plan.Later, one: " takes over a change at its next start only", many: " take over a change at their next start only"},
}

var (
	unseen     = &effectKind{one: ": other first-boot data", many: ": other first-boot data", advice: "A machine that has booted doesn't do all of it again, unless user_data.cloud_init.rerun is true."}
	notAllowed = &effectKind{one: ": change not allowed", many: ": change not allowed"}
	blocked    = &effectKind{one: ": blocked", many: ": blocked"}
	noted      = &effectKind{one: ": note", many: ": note"}
)

// effectOn is an effect with the machines that it is about, and a text about each.
type effectOn struct {
	kind         *effectKind
	names, lines []string
	causes       []string // the attributes that have it
}

type effectList []*effectOn

// of is what is noted of an effect.
func (l *effectList) of(kind *effectKind) *effectOn {
	for _, one := range *l {
		if one.kind == kind {
			return one
		}
	}
	e := &effectOn{kind: kind}
	*l = append(*l, e)
	return e
}

// add notes an effect on a machine.
func (l *effectList) add(kind *effectKind, name, line string) {
	e := l.of(kind)
	e.names, e.lines = append(e.names, name), append(e.lines, line)
}

// because notes which attributes have an effect.
func (l *effectList) because(kind *effectKind, attributes []string) {
	e := l.of(kind)
	for _, a := range attributes {
		if !slices.Contains(e.causes, a) {
			e.causes = append(e.causes, a)
		}
	}
}

// told is the effect as a diagnostic says it.
func (e *effectOn) told() (summary, text string) {
	machines := map[string]bool{}
	for _, name := range e.names {
		machines[name] = true
	}
	lines := slices.Clone(e.lines)
	others := len(machines) - 1
	switch others {
	case 0:
		summary = e.names[0] + e.kind.one
	case 1:
		summary = e.names[0] + " and another one" + e.kind.many
	default:
		summary = fmt.Sprintf("%s and %d others%s", e.names[0], others, e.kind.many)
	}
	for i := range lines {
		if others > 0 {
			lines[i] = e.names[i] + ": " + lines[i]
		}
	}
	if e.kind.advice != "" {
		lines = append(lines, e.kind.advice)
	}
	if len(e.causes) > 0 {
		lines = append(lines, "Caused by "+strings.Join(e.causes, ", ")+".")
	}
	return summary, strings.Join(lines, "\n")
}

// gravest is the gravest effect of some steps, and all steps that people should know of; nil: there are none.
func gravest(steps []plan.Step) (kind *effectKind, grave []plan.Step) {
	for _, g := range gravity {
		for _, s := range steps {
			if s.Effect != g.effect {
				continue
			}
			if kind == nil {
				kind = g
			}
			grave = append(grave, s)
		}
	}
	return kind, grave
}
