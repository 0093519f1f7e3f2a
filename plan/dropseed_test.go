package plan

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// TestFirstBootDataAreDropped: what is asked of Proxmox when a machine has done with its first-boot data, and what later plans make
// of it: nothing comes back before the machine is made anew.
func TestFirstBootDataAreDropped(t *testing.T) {
	made := func(t *testing.T, seed *model.Seed) (*world, model.Desired, *model.Guest) {
		w, want := newWorld(), desired(testVM("web"))
		want.VMs[0].Seed = seed
		converge(quiet{t}, w, want)
		return w, want, w.guest("web")
	}
	iso := &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa", Recipe: &model.Recipe{}}
	var b strings.Builder
	for name, c := range inOrder(map[string]struct {
		seed   *model.Seed
		change func(g *model.Guest)
	}{
		"an ISO image":                             {iso, nil},
		"an ISO image that isn't in its drive":     {iso, func(g *model.Guest) { disk(g.Config, "ide2").Volume = "none" }},
		"an ISO image in a disk's place":           {iso, func(g *model.Guest) { disk(g.Config, "ide2").CDROM = false }},
		"another ISO image":                        {iso, func(g *model.Guest) { disk(g.Config, "ide2").Volume = "nfs:iso/first.iso" }},
		"one that was dropped":                     {iso, func(g *model.Guest) { g.Config.Marker.Dropped = true }},
		"no marker":                                {iso, func(g *model.Guest) { g.Config.Marker = nil }},
		"none":                                     {nil, nil},
		"one that the hook of the node takes":      {iso, func(g *model.Guest) { g.Config.Text = "hook: " + g.Config.Marker.Seed }},
		"snippets":                                 {iso, func(g *model.Guest) { g.Config.Marker.Seed = "nfs:snippets/proxplane-5600-aaaaaaaaaaaa" }},
		"an ISO image beside tags of somebody's":   {iso, func(g *model.Guest) { g.Config.Tags = append(g.Config.Tags, "blue") }},
		"an ISO image, and an earlier one is left": {iso, func(g *model.Guest) { g.Config.Marker.Old = []string{"nfs:iso/proxplane-1-old.iso"} }},
	}) {
		_, _, g := made(t, c.seed)
		if c.change != nil {
			c.change(g)
		}
		act, ok := DropSeed(g)
		fmt.Fprintf(&b, "# %s\n", name)
		if ok {
			fmt.Fprintln(&b, dump(reflect.ValueOf(act)))
		}
	}
	golden.Compare(t, "lives/drop-seed.golden", b.String())
}

// TestDroppedFirstBootDataStayAway: what plans do about a machine that has done with its first-boot data, whatever is wanted and
// whatever somebody does to its drive.
func TestDroppedFirstBootDataStayAway(t *testing.T) {
	dropped := func(after func(t *testing.T, w *world, d *model.Desired)) func(*testing.T, *world, *model.Desired) {
		return func(t *testing.T, w *world, d *model.Desired) {
			d.VMs[0].Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa", Recipe: &model.Recipe{}}
			w.settle(t, d)
			act, ok := DropSeed(w.guest("web"))
			if !ok {
				t.Fatal("there is nothing to drop")
			}
			w.Do(act)
			after(t, w, d)
		}
	}
	var list troubles
	seed := func(name string, change func(s *model.Seed)) {
		list.add(name, func(_ *world, d *model.Desired) {
			s := *d.VMs[0].Seed
			change(&s)
			d.VMs[0].Seed = &s
		})
	}
	seed("other data are wanted", func(s *model.Seed) { s.Digest = "bbbbbbbbbbbbbbbb" })
	seed("it reads them once", func(s *model.Seed) { s.Once = true })
	seed("it has them apart", func(s *model.Seed) { s.Apart = true })
	seed("it has them as snippets", func(s *model.Seed) { s.Snippets = []string{"user"}; s.Storage = "nfs" })
	seed("they are lost", func(s *model.Seed) { s.Lost = true })
	seed("they are on another storage", func(s *model.Seed) { s.Storage = "local-lvm" })
	list.add("none are wanted", func(_ *world, d *model.Desired) { d.VMs[0].Seed = nil })
	list.add("somebody has put the image in again", func(w *world, _ *model.Desired) {
		g := w.guest("web")
		disk(g.Config, "ide2").Volume = "nfs:iso/proxplane-5600-aaaaaaaaaaaa.iso"
	})
	list.add("somebody has put another image in", func(w *world, _ *model.Desired) { disk(w.guest("web").Config, "ide2").Volume = "nfs:iso/first.iso" })
	list.add("somebody has taken the drive", func(w *world, _ *model.Desired) { take(w.guest("web").Config, "ide2") })
	list.add("the file is there", func(w *world, _ *model.Desired) {
		volume := "nfs:iso/proxplane-5600-aaaaaaaaaaaa.iso"
		w.Files[volume] = model.File{Volume: volume, Node: "pve1", Content: "iso"}
	})
	list.add("it is off", func(w *world, d *model.Desired) {
		w.guest("web").Status, d.VMs[0].Power = model.StatusStopped, model.PowerOff
	})
	list.add("it is adopted", func(w *world, _ *model.Desired) { w.guest("web").Config.Marker.Adopted = true })
	list.add("it runs with the image until it restarts", func(w *world, _ *model.Desired) {
		c := w.guest("web").Config
		running := deep(*c)
		disk(&running, "ide2").Volume = "nfs:iso/proxplane-5600-aaaaaaaaaaaa.iso"
		c.Running = &running
	})
	list.add("it is to be made anew", func(_ *world, d *model.Desired) { d.VMs[0].Source.Image.Name, d.Allow.Replace = "other", true })
	list.add("it goes", func(_ *world, d *model.Desired) { d.Delete() })
	matrix(t, "dropped-seed", []situation{
		{"dropped", dropped(func(*testing.T, *world, *model.Desired) {})},
		{"dropped, and settled", dropped(func(t *testing.T, w *world, d *model.Desired) { w.settle(t, d) })},
	}, list)
}
