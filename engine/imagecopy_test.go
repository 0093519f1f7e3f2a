package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// localWorld has nodes with local storages only, and no templates.
func localWorld(nodes int) *pvesim.World {
	w := labWorld(nodes)
	w.Storages, w.Guests = w.Storages[:2], nil
	w.Storages[0].Content = []string{"iso", "import", "snippets"}
	return w
}

// spreadOut are machines of one image that keep apart.
func spreadOut(count int, image model.Image) model.Desired {
	image.Storage = ""
	want := model.Desired{Set: "test", Images: []model.Image{image}}
	for n := range count {
		vm := machine(fmt.Sprintf("web-%d", n+1))
		vm.Source = model.Source{Image: image.Owner.Key}
		vm.Disks, vm.WaitAddress, vm.Labels = nil, false, map[string]string{"app": "web"}
		vm.Place.AntiAffinity = []model.Selector{{Key: "app", Operator: "In", Values: []string{"web"}}}
		want.VMs = append(want.VMs, vm)
	}
	return want
}

// nodesOf are the nodes of our templates, or of our machines, by name.
func (l *lab) nodesOf(template bool) (nodes []string) {
	for _, conf := range l.ours() {
		if (conf["template"] == "1") == template {
			nodes = append(nodes, conf["node"])
		}
	}
	slices.Sort(nodes)
	return nodes
}

func (l *lab) fetches() (n int) {
	for _, r := range l.requests(0) {
		if strings.HasSuffix(r, "/download-url") {
			n++
		}
	}
	return n
}

func TestAnImageIsMadeOnEachNodeThatMachinesArePlacedOn(t *testing.T) {
	url, checksum := library(t)
	inLab(t, localWorld(4), func(t *testing.T, l *lab) {
		want := spreadOut(3, fetched(url, checksum))
		l.mustConverge(want)
		machines, templates := l.nodesOf(false), l.nodesOf(true)
		if len(machines) != 3 || !slices.Equal(machines, templates) || len(slices.Compact(slices.Clone(machines))) != 3 {
			t.Errorf("machines are on %v, templates on %v\n%s", machines, templates, l.story())
		}
		if n := l.fetches(); n != 3 {
			t.Errorf("the file was fetched %d times", n)
		}
		l.check(want)
		before := l.sim.RequestCount()
		l.mustConverge(want)
		if n := writes(l.requests(before)); n != 0 {
			t.Errorf("the second run has made %d changes", n)
		}
		want.Delete()
		l.mustConverge(want)
		l.check(want)
		if n := len(l.ours()); n != 0 {
			t.Errorf("%d guests are left", n)
		}
	})
}

func TestImagesOfSeveralNodesAreMadeThoughTheProcessDiesAtAnyRequest(t *testing.T) {
	url, checksum := library(t)
	w := localWorld(2)
	w.Timing.Template = ms(500)
	crashesIn(t, w, func(*lab) {}, spreadOut(2, fetched(url, checksum)))
}

func TestNothingIsLeftOfImagesOfSeveralNodesThoughTheProcessDiesWhileDeleting(t *testing.T) {
	url, checksum := library(t)
	made, gone := spreadOut(2, fetched(url, checksum)), spreadOut(2, fetched(url, checksum))
	gone.Delete()
	crashesIn(t, localWorld(2), func(l *lab) { l.mustConverge(made) }, gone)
}

func TestAnImageIsMadeBeforehandOnTheNodesThatItNames(t *testing.T) {
	url, checksum := library(t)
	for _, c := range []struct {
		reason string
		nodes  []string
		want   []string
	}{
		{"nobody needs it anywhere in particular", nil, []string{"pve1"}},
		{"it names nodes", []string{"pve2", "pve3"}, []string{"pve2", "pve3"}},
		{"it names all", []string{model.AllNodes}, []string{"pve1", "pve2", "pve3"}},
	} {
		inLab(t, localWorld(3), func(t *testing.T, l *lab) {
			want := spreadOut(0, fetched(url, checksum))
			want.Images[0].Ahead = c.nodes
			l.mustConverge(want)
			if got := l.nodesOf(true); !slices.Equal(got, c.want) {
				t.Errorf("%s: templates are on %v, want %v", c.reason, got, c.want)
			}
			l.check(want)
		})
	}
}

func TestOneFileServesAllNodesThatShareTheStorageForFiles(t *testing.T) {
	url, checksum := library(t)
	w := localWorld(3)
	w.Storages[0].Content = []string{"iso"}
	w.Storages = append(w.Storages, pvesim.WorldStorage{Name: "files", Type: "nfs", Path: "/mnt/pve/files", Size: 1 << 40, Content: []string{"import"}, Options: map[string]string{"server": "10.0.0.9", "export": "/x"}})
	inLab(t, w, func(t *testing.T, l *lab) {
		want := spreadOut(3, fetched(url, checksum))
		l.mustConverge(want)
		if n := l.fetches(); n != 1 {
			t.Errorf("the file was fetched %d times\n%s", n, l.story())
		}
		if templates := l.nodesOf(true); len(templates) != 3 {
			t.Errorf("templates are on %v", templates)
		}
		l.check(want)
	})
}

func TestAFullNodeDoesNotStopTheOthers(t *testing.T) {
	url, checksum := library(t)
	inLab(t, localWorld(3), func(t *testing.T, l *lab) {
		l.sim.Do(func(s *pvesim.State) { s.Spaces[pvesim.SpaceKey{Storage: "local", Node: "pve1"}].Base = 2 << 40 })
		want := spreadOut(2, fetched(url, checksum))
		l.mustConverge(want)
		if got := l.nodesOf(false); !slices.Equal(got, []string{"pve2", "pve3"}) {
			t.Errorf("machines are on %v\n%s", got, l.story())
		}
		l.check(want)
	})
}

func TestANewImageIsMadeOnAllNodesOfTheOldOneBeforeThatGoes(t *testing.T) {
	url, checksum := library(t)
	w := localWorld(3)
	w.Storages[0].Content, w.Storages = append(w.Storages[0].Content, "images"), w.Storages[:1] // files say what they are linked clones of
	inLab(t, w, func(t *testing.T, l *lab) {
		want := spreadOut(2, fetched(url, checksum))
		l.mustConverge(want)
		old := l.nodesOf(true)
		want.Images[0].URL += "?v=2"
		l.mustConverge(want)
		if got := l.nodesOf(true); len(got) != 4 || !slices.Equal(slices.Compact(slices.Clone(got)), old) {
			t.Errorf("templates are on %v, and were on %v\n%s", got, old, l.story())
		}
		want.VMs = want.VMs[:1]
		gone := spreadOut(2, want.Images[0])
		gone.VMs[1].Deleted = true
		l.mustConverge(gone)
		l.mustConverge(want)
		if got := l.nodesOf(true); len(got) != 3 {
			t.Errorf("templates are on %v: the one that no machine hangs on should be gone\n%s", got, l.story())
		}
	})
}

func TestAllTemplatesOfAnImageGoThatNoManifestNamesAnyMore(t *testing.T) {
	url, checksum := library(t)
	inLab(t, localWorld(3), func(t *testing.T, l *lab) {
		want := spreadOut(0, fetched(url, checksum))
		want.Images[0].Ahead = []string{model.AllNodes}
		l.mustConverge(want)
		l.mustConverge(model.Desired{Set: "test", Range: vmids, Prune: true})
		if templates := l.nodesOf(true); len(templates) != 0 {
			t.Errorf("templates are left on %v\n%s", templates, l.story())
		}
	})
}

// What only people can mend about a template is said of the image, too: that is what they have written.
func TestAnImageSaysWhatHoldsUpItsTemplate(t *testing.T) {
	url, checksum := library(t)
	inLab(t, localWorld(3), func(t *testing.T, l *lab) {
		if _, err := l.sim.AddFault(pvesim.Fault{Task: "qmcreate", Times: 1, Mode: "instead"}); err != nil {
			t.Fatal(err)
		}
		rep := l.converge(spreadOut(0, fetched(url, checksum)))
		if o := rep.Objects[0]; o.Reason != model.WaitOwner || !strings.Contains(o.Text, "its template on pve1: VM ") {
			t.Errorf("%s\n%s", describe(rep), l.story())
		}
	})
}

func TestAnImageThatNoNodeCanMakeIsNotReady(t *testing.T) {
	url, _ := library(t)
	inLab(t, localWorld(2), func(t *testing.T, l *lab) {
		want := spreadOut(2, fetched(url, strings.Repeat("0", 64)))
		for _, o := range l.converge(want).Objects {
			if o.State == engine.StateReady {
				t.Errorf("%s is %s: %s\n%s", o.Owner.Key, o.State, o.Text, l.story())
			}
		}
	})
}
