package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// handmade is a world with local storages only and one template that people made, on the first node.
func handmade(nodes int, storage string) *pvesim.World {
	w := labWorld(nodes)
	w.Storages, w.Guests = w.Storages[:2], w.Guests[:1]
	w.Guests[0].Config["scsi0"], w.Guests[0].Config["ide2"] = storage+":8", storage+":cloudinit"
	w.Timing.Migrate, w.Timing.MigratePerGiB = ms(300), ms(100)
	return w
}

func named(template string) model.Image {
	return model.Image{Owner: owner("VMImage", "ubuntu"), Template: template, Range: vmids}
}

func TestTemplatesThatPeopleMadeAreCopiedToNodesThatNeedThem(t *testing.T) {
	for _, c := range []struct {
		storage string
		full    bool
		reason  string
	}{
		{"local", true, "files say what they are clones of, and Proxmox migrates no such disk"},
		{"local-lvm", false, "thin volumes don't"},
	} {
		inLab(t, handmade(3, c.storage), func(t *testing.T, l *lab) {
			want := spreadOut(3, named("ubuntu"))
			l.mustConverge(want)
			machines, templates := l.nodesOf(false), l.nodesOf(true)
			if !slices.Equal(machines, []string{"pve1", "pve2", "pve3"}) || !slices.Equal(templates, []string{"pve2", "pve3"}) {
				t.Errorf("%s: machines are on %v, copies on %v\n%s", c.storage, machines, templates, l.story())
			}
			full := false
			for _, e := range l.events {
				full = full || strings.HasPrefix(e.Step, "copy ubuntu (9000)")
			}
			if full != c.full {
				t.Errorf("%s: copied in full: %v, since %s", c.storage, full, c.reason)
			}
			l.check(want)
			before := l.sim.RequestCount()
			l.mustConverge(want)
			if n := writes(l.requests(before)); n != 0 {
				t.Errorf("%s: the second run has made %d changes", c.storage, n)
			}
			want.Delete()
			l.mustConverge(want)
			l.check(want)
			if n := len(l.ours()); n != 0 {
				t.Errorf("%s: %d guests are left", c.storage, n)
			}
		})
	}
}

func TestCopiesOfTemplatesAreMadeThoughTheProcessDiesAtAnyRequest(t *testing.T) {
	w := handmade(2, "local")
	w.Timing.Template, w.Timing.ClonePerGiB = ms(500), ms(20)
	crashesIn(t, w, func(*lab) {}, spreadOut(2, named("ubuntu")))
}

func TestNothingIsLeftOfCopiesOfTemplatesThoughTheProcessDiesWhileDeleting(t *testing.T) {
	gone := spreadOut(2, named("ubuntu"))
	gone.Delete()
	crashesIn(t, handmade(2, "local-lvm"), func(l *lab) { l.mustConverge(spreadOut(2, named("ubuntu"))) }, gone)
}

// A copy whose making was interrupted at any point goes with its image.
func TestNothingIsLeftOfACopyInTheMakingWhenItsImageGoes(t *testing.T) {
	gone := spreadOut(2, named("ubuntu"))
	gone.Delete()
	w := handmade(2, "local")
	for n := 1; ; n++ {
		killed := false
		inLab(t, w, func(t *testing.T, l *lab) {
			killed = l.runUntil(spreadOut(2, named("ubuntu")), n, true)
			l.mustConverge(gone)
			l.check(gone)
			if n := len(l.ours()); n != 0 {
				t.Errorf("%d guests are left\n%s", n, l.story())
			}
		})
		if t.Failed() {
			t.Fatalf("killed at request %d", n)
		}
		if !killed {
			return
		}
	}
}

func TestANodeThatCanNotTakeACopyDoesNotStopTheOthers(t *testing.T) {
	inLab(t, handmade(3, "local"), func(t *testing.T, l *lab) {
		if _, err := l.sim.AddFault(pvesim.Fault{Task: "qmigrate", Times: 1, Error: "storage migration for 'local:7096/vm-7096-disk-0.raw' to storage 'local' failed - no space left on device"}); err != nil {
			t.Fatal(err)
		}
		want := spreadOut(2, named("ubuntu"))
		l.mustConverge(want)
		if got := l.nodesOf(false); !slices.Equal(got, []string{"pve1", "pve3"}) {
			t.Errorf("machines are on %v\n%s", got, l.story())
		}
		l.check(want)
	})
}

func TestATemplateThatMayNotBeCopiedIsUsedWhereItIs(t *testing.T) {
	inLab(t, handmade(3, "local"), func(t *testing.T, l *lab) {
		want := spreadOut(2, named("ubuntu"))
		want.Images[0].NoCopies = true
		rep := l.converge(want)
		if got := l.nodesOf(false); len(got) != 1 || len(l.nodesOf(true)) != 0 {
			t.Errorf("machines are on %v\n%s", got, l.story())
		}
		if text := describe(rep); !strings.Contains(text, "with local disks") {
			t.Error(text)
		}
	})
}

// Another template under the same name and VMID is another image: copies of the old one go when the
// new ones are there.
func TestCopiesFollowTheTemplateThatTheyAreOf(t *testing.T) {
	inLab(t, handmade(2, "local-lvm"), func(t *testing.T, l *lab) {
		want := spreadOut(0, named("ubuntu"))
		want.Images[0].Ahead = []string{model.AllNodes}
		l.mustConverge(want)
		l.sim.Do(func(s *pvesim.State) { s.VMs[9000].Conf["vmgenid"] = "00000000-1111-2222-3333-444444444444" })
		was := l.ours()
		l.mustConverge(want)
		if got := l.nodesOf(true); !slices.Equal(got, []string{"pve2"}) {
			t.Errorf("copies are on %v\n%s", got, l.story())
		}
		for id, conf := range l.ours() {
			if conf["template"] == "1" && was[id] != nil {
				t.Errorf("VM %d is still the copy of the old template\n%s", id, l.story())
			}
		}
		l.check(want)
	})
}

// Proxmox has destroyed an earlier copy without the volume of its cloud-init drive, and whoever knew of it was killed.
func TestACopyGetsPastTheCloudInitVolumeOfAnEarlierOne(t *testing.T) {
	for _, storage := range []string{"local", "local-lvm"} {
		inLab(t, handmade(2, storage), func(t *testing.T, l *lab) {
			image := named("ubuntu")
			image.Ahead = []string{"pve2"}
			want := model.Desired{Set: "test", Images: []model.Image{image}}
			l.mustConverge(want)
			var id int
			l.sim.Do(func(s *pvesim.State) {
				for _, vm := range s.VMs {
					if vm.Node == "pve2" {
						id = vm.ID
					}
				}
			})
			want.Images[0].Deleted = true
			l.mustConverge(want)
			name := fmt.Sprintf("vm-%d-cloudinit", id)
			if storage == "local" {
				name += ".qcow2"
			}
			if _, err := l.client.Storage("pve2", storage).Alloc(t.Context(), pve.AllocOptions{VMID: id, Filename: name, Size: "4M"}); err != nil {
				t.Fatal(err)
			}
			want.Images[0].Deleted = false
			l.mustConverge(want)
			if !strings.Contains(l.story(), "has left it on pve2, and the migration can't get past it") || !slices.Equal(l.nodesOf(true), []string{"pve2"}) {
				t.Errorf("%s: copies are on %v\n%s", storage, l.nodesOf(true), l.story())
			}
			l.check(want)
		})
	}
}
