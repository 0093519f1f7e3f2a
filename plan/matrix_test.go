package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// matrix compares plans with a golden file: those of each stage, as it is done and as it is foreseen, and those of each stage with
// each trouble that makes a difference. A plan is the names of its parts, which follow from what they say; a part is written down
// where it comes first.
func matrix(t *testing.T, file string, stages, troubles []situation) {
	t.Helper()
	var b strings.Builder
	parts := map[string]string{}
	write := func(name string, said, before []string) {
		if slices.Equal(said, before) {
			return
		}
		fmt.Fprintf(&b, "# %s:", name)
		var first []string
		for _, part := range said {
			of := model.Digest(part)[:6]
			if other, known := parts[of]; !known {
				parts[of] = part
				first = append(first, of)
			} else if other != part {
				t.Fatalf("two parts have the name %s", of)
			}
			b.WriteString(" " + of)
		}
		b.WriteString("\n")
		for _, of := range first {
			fmt.Fprintf(&b, "%s: %s", of, parts[of])
		}
	}
	for _, stage := range stages {
		w := wishWorld()
		delete(w.Guests, 9002)
		want := desired(testVM("web"))
		stage.do(t, w, &want)
		plain := planParts(t, stage.name, w, want)
		write(stage.name, plain, nil)
		foreseen := deep(want)
		foreseen.Foresee = true
		write(stage.name+", foreseen", planParts(t, stage.name, w, foreseen), plain)
		for _, trouble := range troubles {
			name := stage.name + "; " + trouble.name
			there, wanted := w.copy(), deep(want)
			trouble.do(t, there, &wanted)
			write(name, planParts(t, name, there, wanted), plain)
		}
	}
	golden.Compare(t, "lives/"+file+".golden", b.String())
}

// planParts is what a plan says, by object, with what has to be read for it.
func planParts(t *testing.T, name string, w *world, want model.Desired) (parts []string) {
	t.Helper()
	p, looks := w.planLooks(want)
	for _, problem := range unsaid(p) {
		t.Errorf("%s: %s", name, problem)
	}
	for _, l := range looks {
		parts = append(parts, "look:"+l+"\n")
	}
	for _, o := range p.Objects {
		var b strings.Builder
		tell(&b, Plan{Objects: []Object{o}}, nil)
		parts = append(parts, strings.TrimSuffix(b.String(), "\n"))
	}
	for _, n := range p.Notes {
		parts = append(parts, fmt.Sprintf("note: %s%s\n", n.Text, adviceText(n.Do)))
	}
	return parts
}
