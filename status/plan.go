package status

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Page is the layout of texts.
type Page struct {
	Paint
	Width int  // lines are broken there; 0: never
	All   bool // also what is up to date
	Words Words
}

// Plan formats a plan for people: grouped by object, each step with action, reason and
// effect, and a last line with counts.
func (p Page) Plan(all plan.Plan) string {
	var b strings.Builder
	for _, o := range all.Objects {
		if (o.Ready() || o.Gone) && len(o.Notes) == 0 && !p.All {
			continue
		}
		b.WriteString(p.Object(o))
		b.WriteByte('\n')
	}
	for _, note := range all.Notes {
		b.WriteString(p.Yellow(Wrap("· "+p.Words.Note(note), p.Width, "  ")) + "\n\n")
	}
	b.WriteString(p.Bold(Wrap(CountOf(all).String(), p.Width, "      ")) + "\n")
	return b.String()
}

// Object formats the plan for one object.
func (p Page) Object(o plan.Object) string {
	var b strings.Builder
	b.WriteString(p.heading(o) + "\n")
	if o.Resolved != "" {
		b.WriteString(p.Grey(Wrap("    "+o.Resolved, p.Width, "      ")) + "\n")
	}
	if o.Placed != "" {
		b.WriteString(p.Grey(Wrap("    on "+o.Node+": "+o.Placed, p.Width, "      ")) + "\n")
	}
	if o.Foreseen && len(o.Steps) > 0 {
		b.WriteString(p.Grey(Wrap("    … "+Sentence(o.Wait.Text)+"; after that:", p.Width, "      ")) + "\n")
	}
	before := ""
	for _, s := range o.Steps {
		b.WriteString(p.step(s, before))
		before = s.Why
	}
	for _, r := range o.Refused {
		b.WriteString(p.refusal(r))
	}
	for _, note := range o.Notes {
		b.WriteString(p.Yellow(Wrap("    · "+p.Words.Note(note), p.Width, "      ")) + "\n")
	}
	switch {
	case o.Foreseen && len(o.Steps) > 0:
	case o.Wait != nil:
		b.WriteString(p.wait(*o.Wait))
	case !o.Ready() && o.Unchanged():
		b.WriteString(p.Grey("    … "+p.Words.Of(o).Message) + "\n")
	case !o.Look.Empty():
		b.WriteString(p.Grey("    … not all that matters could be read") + "\n")
	}
	return b.String()
}

// heading returns "~ vm/web-1  VM 4711 on pve2".
func (p Page) heading(o plan.Object) string {
	sign, e := "=", plan.Effect("")
	if len(o.Steps) > 0 {
		e = strongest(o.Steps)
		sign = Sign(e)
	} else if len(o.Refused) > 0 {
		sign, e = "!", plan.Restart
	} else if o.Blocked() {
		sign, e = "✗", plan.LosesData
	} else if o.Wait != nil || !o.Look.Empty() {
		sign, e = "…", plan.Live
	}
	text := p.Bold(Name(o.Owner.Key))
	if o.VMID != 0 {
		at := fmt.Sprintf("VM %d on %s", o.VMID, o.Node)
		if room := p.Width - utf8.RuneCountInString(Name(o.Owner.Key)) - len("=   "); p.Width > 0 && len(at) > room {
			text += "\n  "
		}
		text += fmt.Sprintf("  VM %d", o.VMID)
		if o.Node != "" {
			text += " on " + o.Node
		}
	}
	switch {
	case o.Gone:
		text += "  gone"
	case o.Verified():
		text += "  up to date"
	case o.Ready():
		text += "  not verified"
	}
	if e == "" {
		return sign + " " + text
	}
	return p.effect(e, sign) + " " + text
}

// strongest returns the effect that an object's line is marked with. What is new as
// a whole is new, though some of its steps change it after it was made.
func strongest(steps []plan.Step) plan.Effect {
	if steps[0].Effect == plan.New {
		return plan.New
	}
	order := map[plan.Effect]int{plan.Live: 1, plan.PowerOff: 2, plan.Restart: 2, plan.Replace: 3, plan.LosesData: 4}
	e := plan.Live
	for _, s := range steps {
		if order[s.Effect] > order[e] {
			e = s.Effect
		}
	}
	return e
}

// step returns one step; the reason of the one before it isn't said again.
func (p Page) step(s plan.Step, before string) string {
	text := s.What
	if why := Why(s); why != "" && (s.Why == "" || s.Why != before) {
		text += ": " + why
	}
	effect := ""
	if s.Effect != plan.New {
		effect = "  (" + string(s.Effect) + ")"
	}
	return p.item(Sign(s.Effect), s.Effect, text, effect)
}

func (p Page) refusal(r plan.Refusal) string {
	text := r.What
	if why := Reason(r.Why, r.Diff); why != "" {
		text += ": " + why
	}
	if r.Allow == "" {
		return p.item("!", plan.Restart, text, "  (can't be done)")
	}
	line := p.item("!", plan.Restart, text, "  ("+string(r.Effect)+", not allowed)")
	return line + Wrap("      allow it with "+p.Words.Consent(r.Allow), p.Width, "        ") + "\n"
}

// item returns one line, or several where the screen is narrow.
func (p Page) item(sign string, e plan.Effect, text, tail string) string {
	lines := strings.SplitN(Wrap("    "+sign+" "+Sentence(text)+tail, p.Width, "      "), "\n", 2)
	lines[0] = "    " + p.effect(e, sign) + lines[0][4+len(sign):]
	out := strings.Join(lines, "\n")
	if tail != "" && strings.HasSuffix(out, tail) {
		out = strings.TrimSuffix(out, tail) + p.effect(e, tail)
	}
	return out + "\n"
}

func (p Page) wait(w plan.Wait) string {
	sign := "…"
	if (plan.Object{Wait: &w}).Blocked() {
		sign = "✗"
	}
	text := Wrap("    "+sign+" "+p.Words.Wait(w), p.Width, "      ")
	if p.Words.waiting(w).State == model.StateWaiting {
		return p.Grey(text) + "\n"
	}
	return p.Yellow(text) + "\n"
}

// Counts are the numbers of objects by what their plans do.
type Counts struct {
	Make    int `json:"make"`
	Change  int `json:"change"`
	Restart int `json:"restart"`           // also stopped
	Remove  int `json:"remove"`            // destroyed, replaced, or losing data
	Replace int `json:"replace,omitempty"` // of those: destroyed and recreated
	Refused int `json:"refused"`
	Blocked int `json:"blocked"` // a person has to change something
	Wait    int `json:"wait"`
	Same    int `json:"same"`
	Unread  int `json:"unread,omitempty"` // nothing to do by what was read, which wasn't everything

	gone int // of those: they were to go, and nothing of them is left
}

// CountOf counts a plan's objects.
func CountOf(all plan.Plan) Counts {
	var c Counts
	for _, o := range all.Objects {
		switch {
		case len(o.Steps) > 0:
			switch strongest(o.Steps) {
			case plan.New:
				c.Make++
			case plan.Restart, plan.PowerOff:
				c.Restart++
			case plan.Replace, plan.LosesData:
				c.Remove++
				if strongest(o.Steps) == plan.Replace {
					c.Replace++
				}
			default:
				c.Change++
			}
		case len(o.Refused) == 0 && o.Blocked(): // counted below
		case len(o.Refused) == 0 && (o.Wait != nil || !o.Look.Empty()):
			c.Wait++
		case len(o.Refused) == 0 && !o.Gone && !o.Verified():
			c.Unread++
		case len(o.Refused) == 0:
			c.Same++
			if o.Gone {
				c.gone++
			}
		}
		switch {
		case o.Blocked():
			c.Blocked++
		case len(o.Refused) > 0:
			c.Refused++
		}
	}
	return c
}

// Changes reports whether there is anything to do.
func (c Counts) Changes() bool {
	return c.Make+c.Change+c.Restart+c.Remove+c.Refused+c.Blocked+c.Wait > 0
}

// Ended says how many objects are up to date, and how many of these are gone.
func Ended(same, gone int) string {
	switch {
	case gone == 0:
		return Count(same, "object") + " up to date"
	case same == 0:
		return "nothing of proxplane's is left of " + Count(gone, "object")
	}
	return fmt.Sprintf("%s up to date, %d gone", Count(same, "object"), gone)
}

// ended says how many objects are up to date, and of how many that isn't verified.
func (c Counts) ended() string {
	switch {
	case c.Unread == 0:
		return Ended(c.Same-c.gone, c.gone)
	case c.Same == 0:
		return Count(c.Unread, "object") + " not verified"
	}
	return fmt.Sprintf("%s, %d not verified", Ended(c.Same-c.gone, c.gone), c.Unread)
}

// String returns the last line of a plan.
func (c Counts) String() string {
	switch {
	case c == Counts{}:
		return "Nothing to do."
	case !c.Changes():
		return "Nothing to do: " + c.ended() + "."
	}
	var parts []string
	for _, part := range []struct {
		n    int
		text string
	}{
		{c.Make, "to make"}, {c.Change, "to change"}, {c.Restart, "to stop or restart"}, {c.Replace, "to destroy and recreate"}, {c.Remove - c.Replace, "to go or lose data"},
		{c.Refused, "refused"}, {c.Blocked, "blocked"}, {c.Wait, "waiting"}, {c.Same - c.gone, "up to date"}, {c.gone, "gone"}, {c.Unread, "not verified"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.text))
		}
	}
	return "Plan: " + strings.Join(parts, ", ") + "."
}
