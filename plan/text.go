package plan

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// String returns the plan as plain text, one line a step.
func (p Plan) String() string {
	var b strings.Builder
	for _, o := range p.Objects {
		b.WriteString(o.String())
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "note: %s%s\n", note.Text, adviceText(note.Do))
	}
	return b.String()
}

// Because returns why a step is done: a text, or its differences.
func (s Step) Because() (string, []model.Difference) {
	if s.Why != "" {
		return s.Why, nil
	}
	return "", s.Diff
}

// Reason returns why a step is done, as plain data.
func (s Step) Reason() string { return reason(s.Why, s.Diff, s.Effect) }

// reason returns a text and differences as plain data, with the effects that aren't that of the
// whole.
func reason(why string, diff []model.Difference, e Effect) string {
	var parts []string
	if why != "" {
		parts = append(parts, why)
	}
	for _, d := range diff {
		text := d.String()
		if d.Effect != e {
			text += fmt.Sprintf(" (%s)", d.Effect)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// String returns the object's plan as plain text.
func (o Object) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", o.Owner.Key)
	if o.VMID != 0 {
		fmt.Fprintf(&b, " (VM %d", o.VMID)
		if o.Node != "" {
			fmt.Fprintf(&b, " on %s", o.Node)
		}
		b.WriteString(")")
	}
	switch {
	case o.Gone:
		b.WriteString(": gone")
	case o.Ready():
		b.WriteString(": up to date")
	}
	b.WriteString("\n")
	if o.Resolved != "" {
		fmt.Fprintf(&b, "  resolved: %s\n", o.Resolved)
	}
	if o.Placed != "" {
		fmt.Fprintf(&b, "  placed: %s\n", o.Placed)
	}
	if o.Foreseen {
		b.WriteString("  after the wait:\n")
	}
	for _, s := range o.Steps {
		fmt.Fprintf(&b, "  %d. %s: %s (%s)%s\n", s.N, s.What, s.Reason(), s.Effect, afterText(s.After))
	}
	for _, r := range o.Refused {
		fmt.Fprintf(&b, "  refused: %s: %s (%s)", r.What, reason(r.Why, r.Diff, r.Effect), r.Effect)
		if r.Allow != "" {
			fmt.Fprintf(&b, "; %s", r.Allow)
		}
		b.WriteString("\n")
	}
	for _, note := range o.Notes {
		fmt.Fprintf(&b, "  note: %s%s\n", reason(note.Text, note.Diff, New), adviceText(note.Do))
	}
	if o.Wait != nil {
		fmt.Fprintf(&b, "  waits (%s): %s%s\n", o.Wait.Reason, reason(o.Wait.Text, o.Wait.Diff, ""), adviceText(o.Wait.Do))
	}
	if !o.Look.Empty() {
		fmt.Fprintf(&b, "  look:%s\n", lookText(o.Look))
	}
	return b.String()
}

func adviceText(a model.Advice) string {
	if a.None() {
		return ""
	}
	return "; " + a.String()
}

func afterText(after []int) string {
	if len(after) == 0 {
		return ""
	}
	return " after " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(after)), ", "), "[]")
}

// lookText names what is to be read.
func lookText(l Look) string {
	var b strings.Builder
	for _, part := range l.Guests() {
		if len(*part.At) > 0 {
			fmt.Fprintf(&b, " %s %v", part.Name, *part.At)
		}
	}
	for _, part := range l.Wholes() {
		if *part.At {
			b.WriteString(" " + part.Name)
		}
	}
	for _, part := range l.Names() {
		if len(*part.At) > 0 {
			fmt.Fprintf(&b, " %s %v", part.Name, *part.At)
		}
	}
	return b.String()
}
