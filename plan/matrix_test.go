package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// matrix compares plans with a golden file: those of each stage, as it is done, as it is foreseen, and with each trouble that makes a
// difference to it. A plan is the names of its parts, which follow from what they say; a part is written down where it comes first. Of plans
// with a trouble, the file has the parts that are new and those that aren't there any more.
func matrix(t *testing.T, file string, stages, troubles []situation) {
	t.Helper()
	var b strings.Builder
	texts := map[string]string{}
	write := func(name string, names []string, said []string) {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(names, " "))
		for _, part := range said {
			of := partName(part)
			switch other, known := texts[of]; {
			case !known:
				texts[of] = part
				fmt.Fprintf(&b, "%s: %s", of, part)
			case other != part:
				t.Fatalf("two parts have the name %s", of)
			}
		}
	}
	for _, stage := range stages {
		w := wishWorld()
		delete(w.Guests, 9002)
		want := desired(testVM("web"))
		stage.do(t, w, &want)
		plain := planParts(t, stage.name, w, want)
		var names []string
		for _, part := range plain {
			names = append(names, partName(part))
		}
		write("# "+stage.name, names, plain)
		differs := func(name string, w *world, want model.Desired) {
			said := planParts(t, stage.name+", "+name, w, want)
			var names []string
			for _, part := range plain {
				if !slices.Contains(said, part) {
					names = append(names, "-"+partName(part))
				}
			}
			for _, part := range said {
				if !slices.Contains(plain, part) {
					names = append(names, "+"+partName(part))
				}
			}
			if len(names) > 0 {
				write("## "+name, names, said)
			}
		}
		foreseen := deep(want)
		foreseen.Foresee = true
		differs("foreseen", w, foreseen)
		for _, trouble := range troubles {
			there, wanted := w.copy(), deep(want)
			trouble.do(t, there, &wanted)
			differs(trouble.name, there, wanted)
		}
	}
	golden.Compare(t, "lives/"+file+".golden", b.String())
}

// partName is a short name for what a part says.
func partName(part string) string { return model.Digest(part)[:6] }

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
		parts = append(parts, strings.TrimSuffix(b.String(), "\n")+besides(o))
	}
	for _, n := range p.Notes {
		parts = append(parts, fmt.Sprintf("note: %s%s\n", n.Text, adviceText(n.Do)))
	}
	return parts
}

// besides is what doors and the engine get to know of an object beside its steps and waits.
func besides(o Object) string {
	rest := Object{
		Space: o.Space, Addresses: o.Addresses, Devices: o.Devices, LeftImage: o.LeftImage, Awaits: o.Awaits, On: o.On, Resolved: o.Resolved,
		Templates: o.Templates, Earlier: o.Earlier, Unread: o.Unread, Unasked: o.Unasked,
	}
	if text := dump(reflect.ValueOf(rest)); text != "" {
		return "  " + text + "\n"
	}
	return ""
}
