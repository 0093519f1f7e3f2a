package plan

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// TestFilesThatAreFetchedAtOnceShareTheRoom: two images may each fit onto a storage, and not both.
func TestFilesThatAreFetchedAtOnceShareTheRoom(t *testing.T) {
	const gib = 1 << 30
	placed := func(name string) map[int]model.Placement {
		return map[int]model.Placement{6500: {Owner: owner("VMImage", name), Node: "pve1", Space: map[string]int64{"local": 60 * gib}}}
	}
	for _, c := range []struct {
		reason string
		size   int64
		nodes  [2]string
		placed map[int]model.Placement
		waits  string // for room, on pve1; empty: nobody does
	}{
		{"both fit", 40 * gib, [2]string{"pve1", "pve1"}, nil, ""},
		{"one of them fits", 60 * gib, [2]string{"pve1", "pve1"}, nil, "second@pve1"},
		{"they go to different nodes", 60 * gib, [2]string{"pve1", "pve2"}, nil, ""},
		{"another image is being fetched", 60 * gib, [2]string{"pve1", "pve2"}, placed("third@pve1"), "first@pve1"},
		{"the image itself is", 60 * gib, [2]string{"pve1", "pve2"}, placed("first@pve1"), ""},
	} {
		w, d := newWorld(), desired()
		w.storage("local", "dir", false, 100, "import", "pve1", "pve2", "pve3")
		delete(w.Storages["nfs"].Content, "import")
		for n, name := range []string{"first", "second"} {
			i := fetched(name)
			i.Storage, i.Ahead = "local-lvm", []string{c.nodes[n]}
			d.Images = append(d.Images, i)
		}
		w.also = func(have *model.Observed) {
			have.Placed = c.placed
			for key := range have.URLs {
				have.URLs[key] = model.URLState{Size: c.size}
			}
		}
		p, _ := w.planLooks(d)
		waits := ""
		for _, o := range p.Objects {
			if o.Wait != nil && strings.Contains(o.Wait.Text, "for what is being made, and the file has 60 GiB; make room on pve1") && o.On != "" {
				waits += o.Owner.Name
			}
		}
		if waits != c.waits {
			t.Errorf("%s: %q waits for room, want %q\n%s", c.reason, waits, c.waits, p)
		}
	}
}
