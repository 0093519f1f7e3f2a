package plan

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

func TestTagsAndInterfacesOfOthersStayThoughOursAreGone(t *testing.T) {
	w := newWorld()
	w.Guests[9000].Config.Tags, w.Guests[9000].Tags = []string{"golden"}, []string{"golden"}
	v := testVM("web")
	v.Tags = []string{"prod"}
	id := converge(t, w, desired(v)).Objects[2].VMID
	g := w.Guests[id]
	if got := visible(g.Tags); !slices.Equal(got, []string{"prod"}) {
		t.Errorf("a new guest has the tags %v of its template", got)
	}
	g.Tags = []string{"theirs"} // somebody sets all tags anew
	g.Config.Tags = g.Tags
	g.Config.NICs = append(g.Config.NICs, model.NIC{Slot: "net7", Model: "virtio", MAC: "02:00:00:00:00:07", Bridge: "vmbr7"})
	if p := converge(t, w, desired(v)); !p.Ready() {
		t.Fatalf("plan:\n%s", p)
	}
	if got := visible(g.Tags); !slices.Equal(got, []string{"prod", "theirs"}) {
		t.Errorf("tags %v", got)
	}
	if _, ok := g.Config.NICAt("net7"); !ok {
		t.Errorf("their interface is gone: %v", g.Config.NICs)
	}
	v.Tags = nil
	converge(t, w, desired(v))
	if got := visible(g.Tags); !slices.Equal(got, []string{"theirs"}) {
		t.Errorf("tags %v, after ours aren't wanted any more", got)
	}
}

// Others may have tags that begin as ours do.
func TestTagsOfOthersAreNotTakenForOurs(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	converge(t, w, desired(v))
	for _, g := range w.Guests {
		if !g.Template {
			tags := append([]string{"pp.team", "pp.a.b"}, g.Tags...)
			slices.Sort(tags)
			g.Tags, g.Config.Tags = tags, tags
		}
	}
	want := desired(v)
	want.Quick = true
	p := For(want, w.observe(Look{}))
	if !p.Ready() || !p.Look().Empty() {
		t.Errorf("the list isn't enough to know it:\n%s", p)
	}
	v.Options["cores"] = "2"
	v.Update.Restart = true
	converge(t, w, desired(v))
	for _, g := range w.Guests {
		if !g.Template && (!slices.Contains(g.Tags, "pp.team") || !slices.Contains(g.Tags, "pp.a.b")) {
			t.Errorf("tags: %v", g.Tags)
		}
	}
}
