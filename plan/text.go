package plan

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// String is the plan as plain text, one line a step.
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

// String is the object's plan as plain text.
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
		fmt.Fprintf(&b, "  %d. %s: %s (%s)%s\n", s.N, s.What, s.Why, s.Effect, afterText(s.After))
	}
	for _, r := range o.Refused {
		fmt.Fprintf(&b, "  refused: %s: %s (%s)", r.What, r.Why, r.Effect)
		if r.Allow != "" {
			fmt.Fprintf(&b, "; %s", r.Allow)
		}
		b.WriteString("\n")
	}
	for _, note := range o.Notes {
		fmt.Fprintf(&b, "  note: %s%s\n", note.Text, adviceText(note.Do))
	}
	if o.Wait != nil {
		fmt.Fprintf(&b, "  waits (%s): %s%s\n", o.Wait.Reason, o.Wait.Text, adviceText(o.Wait.Do))
	}
	if !o.Look.Empty() {
		fmt.Fprintf(&b, "  look:%s\n", o.Look.text())
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

func (l Look) text() string {
	var b strings.Builder
	for _, part := range []struct {
		name string
		ids  []int
	}{{"configs", l.Configs}, {"snapshots", l.Snapshots}, {"agents", l.Agents}, {"status", l.Status}, {"ready", l.Ready}} {
		if len(part.ids) > 0 {
			fmt.Fprintf(&b, " %s %v", part.name, part.ids)
		}
	}
	if l.Files {
		b.WriteString(" files")
	}
	if l.Snippets {
		b.WriteString(" snippets")
	}
	if l.Dirs {
		b.WriteString(" shares")
	}
	if l.HA {
		b.WriteString(" HA")
	}
	if l.Volumes {
		b.WriteString(" volumes")
	}
	for _, part := range []struct {
		name  string
		names []string
	}{{"bridges", l.Bridges}, {"storages", l.Storages}, {"mappings", l.Mappings}, {"rights", l.Rights}, {"URLs", l.URLs}} {
		if len(part.names) > 0 {
			fmt.Fprintf(&b, " %s %v", part.name, part.names)
		}
	}
	return b.String()
}
