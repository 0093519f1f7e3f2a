package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// A situation is what is wanted, and what is there, a little otherwise than a plain machine in a plain world. What was done before
// is done in the function itself: [world.settle] for all, [world.turns] for the beginning.
type situation struct {
	name string
	do   func(t *testing.T, w *world, want *model.Desired)
}

// settle makes all that is wanted.
func (w *world) settle(t *testing.T, want *model.Desired) { converge(quiet{t}, w, *want) }

// turns does the next steps of a plan some times.
func (w *world) turns(want *model.Desired, n int) {
	for range n {
		p, _ := w.planLooks(*want)
		for _, o := range p.Objects {
			for _, s := range o.Next() {
				w.Do(s.Action)
			}
		}
	}
}

// guest is the guest of that name.
func (w *world) guest(name string) *model.Guest {
	for _, id := range slices.Sorted(maps.Keys(w.Guests)) {
		if g := w.Guests[id]; g.Name == name && !g.Template {
			return g
		}
	}
	panic("there is no guest " + name)
}

// plain is a guest of somebody else's.
func (w *world) plain(id int, name, node string) *model.Guest {
	w.template(id, name, node, "nfs")
	g := w.Guests[id]
	g.Template, g.Config.NICs[0].MAC = false, fmt.Sprintf("BC:24:11:EE:%02X:%02X", id>>8&255, id&255)
	g.Config.Disks[0].Volume = fmt.Sprintf("nfs:%d/vm-%d-disk-0.qcow2", id, id)
	return g
}

// twin is another guest that is as one of ours, but for its VMID.
func (w *world) twin(of *model.Guest, id int) *model.Guest {
	g, c := *of, *of.Config
	g.VMID, g.Config = id, &c
	c.NICs, c.Options = slices.Clone(c.NICs), maps.Clone(c.Options)
	w.Guests[id] = &g
	return &g
}

// situations compares the plan of each situation with a golden file: as it is done, with what has to be read for it, and as it is
// foreseen.
func situations(t *testing.T, file string, lists ...[]situation) {
	t.Helper()
	var b strings.Builder
	seen := map[string]string{}
	for _, s := range slices.Concat(lists...) {
		before := ""
		for _, foresee := range []bool{false, true} {
			w := wishWorld()
			delete(w.Guests, 9002)
			want := desired(testVM("web"))
			s.do(t, w, &want)
			want.Foresee = want.Foresee || foresee
			p, looks := w.planLooks(want)
			for _, problem := range unsaid(p) {
				t.Errorf("%s: %s", s.name, problem)
			}
			var text strings.Builder
			tell(&text, p, nil)
			name, said := s.name, text.String()
			if foresee {
				name += ", foreseen"
			}
			fmt.Fprintf(&b, "# %s\nlook:%s\n", name, strings.Join(looks, ";"))
			switch as, known := seen[said]; {
			case said == before:
				b.WriteString("the same\n\n")
			case known:
				fmt.Fprintf(&b, "as %s\n\n", as)
			default:
				b.WriteString(said)
				seen[said] = name
			}
			before = said
		}
	}
	golden.Compare(t, "lives/"+file+".golden", b.String())
}
