package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// A chapter is a change of what is wanted or of what is there, after which turns follow until nothing is left to do.
type chapter struct {
	name string
	do   func(w *world, want *model.Desired)
}

// live lives through chapters and compares all plans on the way, each with its looks and its actions in full, with a golden file.
func live(t *testing.T, file string, w *world, want model.Desired, chapters ...chapter) {
	t.Helper()
	var b strings.Builder
	for _, c := range chapters {
		fmt.Fprintf(&b, "# %s\n", c.name)
		c.do(w, &want)
		turns(t, &b, w, want)
	}
	golden.Compare(t, "lives/"+file+".golden", b.String())
}

func turns(t *testing.T, b *strings.Builder, w *world, want model.Desired) {
	t.Helper()
	for turn := range 40 {
		p, looks := w.planLooks(want)
		tell(b, p, looks)
		if turn == 0 && !p.Ready() {
			foresight := want
			foresight.Foresee = true
			foreseen, _ := w.planLooks(foresight)
			var first, second strings.Builder
			tell(&first, p, nil)
			if tell(&second, foreseen, nil); first.String() != second.String() {
				b.WriteString("foreseen:\n" + second.String())
			}
		}
		did := false
		for _, o := range p.Objects {
			for _, s := range o.Next() {
				w.Do(s.Action)
				did = true
			}
		}
		if !did {
			return
		}
	}
	t.Fatalf("no end after 40 turns:\n%s", b)
}

// tell writes down what a plan has to say: objects that are up to date are named together.
func tell(b *strings.Builder, p Plan, looks []string) {
	for _, l := range looks {
		fmt.Fprintf(b, "look:%s\n", l)
	}
	var ready []string
	for _, o := range p.Objects {
		if o.Ready() && !o.Gone && len(o.Notes) == 0 {
			ready = append(ready, o.Owner.Key.String())
			continue
		}
		b.WriteString(o.String())
		switch {
		case o.Blocked():
			b.WriteString("  blocked\n")
		case o.Unchanged():
			b.WriteString("  unchanged\n")
		}
		if d := details(Plan{Objects: []Object{o}}); d != "" {
			_, lines, _ := strings.Cut(d, "\n")
			b.WriteString(lines)
		}
	}
	if len(ready) > 0 {
		fmt.Fprintf(b, "up to date: %s\n", strings.Join(ready, ", "))
	}
	for _, n := range p.Notes {
		fmt.Fprintf(b, "note: %s%s\n", n.Text, adviceText(n.Do))
	}
	b.WriteString("\n")
}

// planLooks is the plan when all was read that it asks for, and what that was.
func (w *world) planLooks(want model.Desired) (Plan, []string) {
	var look Look
	var texts []string
	for range 10 {
		have := w.observe(look)
		have.IDs = map[int]bool{}
		for _, id := range look.IDs {
			have.IDs[id] = w.Guests[id] != nil || w.hidden[id]
		}
		p := For(want, have)
		more := p.Look()
		text := lookText(more)
		if more.Empty() || slices.Contains(texts, text) { // some of it can't be seen
			return p, texts
		}
		texts = append(texts, text)
		look.Add(more)
	}
	panic("the plan asks for more looks without end")
}

func databases(n int) []model.VM {
	var vms []model.VM
	for i := range n {
		v := testVM(fmt.Sprintf("db-%d", i))
		v.NICs[0].MAC = ""
		v.Labels = map[string]string{"vm.type": "database"}
		v.Place.AntiAffinity = []model.Selector{{Key: "vm.type", Operator: "In", Values: []string{"database"}}}
		vms = append(vms, v)
	}
	return vms
}
