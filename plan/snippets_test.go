package plan

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// snippetVM has first-boot data as snippets.
func snippetVM(name, digest string, once bool) model.VM {
	v := testVM(name)
	v.Seed = &model.Seed{Storage: "local", Digest: digest, Once: once, Snippets: []string{"user", "meta"}}
	v.Own = map[string]model.Text{"cicustom": {
		{Fixed: "meta=local:snippets/"}, {Own: model.OwnSeed}, {Fixed: "-meta.yaml,user=local:snippets/"}, {Own: model.OwnSeed}, {Fixed: "-user.yaml"},
	}}
	v.Managed = append(v.Managed, "cicustom")
	return v
}

func TestSnippetsAreThereBeforeProxmoxIsToldToReadThem(t *testing.T) {
	w := newWorld()
	w.Storages["local"] = &model.Storage{Name: "local", Type: "dir", Content: map[string]bool{"snippets": true}, OnNode: w.Storages["nfs"].OnNode}
	v := snippetVM("web", "aaaaaaaaaaaaaaaa", false)
	v.Place.Nodes = []string{"pve1", "pve2"}
	check := func(want model.Desired) Plan {
		t.Helper()
		for range 60 {
			p := w.plan(want)
			did := false
			for _, o := range p.Objects {
				for _, s := range o.Next() {
					w.Do(s.Action)
					did = true
					if g := w.Guests[o.VMID]; g != nil {
						for part := range strings.SplitSeq(g.Config.Options["cicustom"], ",") {
							_, volume, _ := strings.Cut(part, "=")
							f, there := w.Snippets[volume]
							if part != "" && (!there || len(f.Also) != 1) {
								t.Fatalf("%s names %s, which is on %+v", s.What, volume, f)
							}
						}
					}
				}
			}
			if !did {
				return p
			}
		}
		t.Fatalf("no end:\n%s", w.plan(want))
		return Plan{}
	}
	p := check(desired(v))
	if !p.Ready() || len(w.Snippets) != 2 {
		t.Fatalf("snippets %v, plan:\n%s", w.Snippets, p)
	}
	id := p.object(t, "web").VMID
	if !hasCloudInit(w.Guests[id].Config) {
		t.Error("there is no drive for them")
	}
	other := snippetVM("web", "bbbbbbbbbbbbbbbb", false)
	other.Place = v.Place
	if p := check(desired(other)); !p.Ready() || len(w.Snippets) != 2 || !strings.Contains(w.Guests[id].Config.Options["cicustom"], "bbbbbbbbbbbb") {
		t.Errorf("snippets %v, plan:\n%s", w.Snippets, p)
	}
	// From snippets to an image, and back.
	iso := testVM("web")
	iso.Seed = &model.Seed{Storage: "nfs", Digest: "cccccccccccccccc"}
	if p := converge(t, w, desired(iso)); !p.Ready() || len(w.Snippets) != 0 || len(w.Files) != 1 {
		t.Errorf("snippets %v, files %v, plan:\n%s", w.Snippets, w.Files, p)
	}
	if p := check(desired(v)); !p.Ready() || len(w.Snippets) != 2 || len(w.Files) != 0 {
		t.Errorf("snippets %v, files %v, plan:\n%s", w.Snippets, w.Files, p)
	}
	v.Deleted = true
	if converge(t, w, desired(v)); len(w.Snippets) != 0 {
		t.Errorf("left behind: %v", w.Snippets)
	}
}

func TestAGuestThatIsntMadeAnewKeepsItsSnippets(t *testing.T) {
	w := newWorld()
	w.Storages["local"] = &model.Storage{Name: "local", Type: "dir", Content: map[string]bool{"snippets": true}, OnNode: w.Storages["nfs"].OnNode}
	id := converge(t, w, desired(snippetVM("web", "aaaaaaaaaaaaaaaa", true))).object(t, "web").VMID
	p := converge(t, w, desired(snippetVM("web", "bbbbbbbbbbbbbbbb", true)))
	if o := p.object(t, "web"); len(o.Refused) != 1 || len(o.Steps) > 0 {
		t.Fatalf("plan:\n%s", p)
	}
	if got := w.Guests[id].Config.Options["cicustom"]; !strings.Contains(got, "aaaaaaaaaaaa") || len(w.Snippets) != 2 {
		t.Errorf("cicustom %s, snippets %v", got, w.Snippets)
	}
}
