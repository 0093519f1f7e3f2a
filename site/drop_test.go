package site_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
)

// isos are the ISO images with first-boot data.
func (l *lab) isos() (names []string) {
	l.sim.Do(func(s *pvesim.State) {
		for _, sp := range s.Spaces {
			for name := range sp.Volumes {
				if model.IsSeed(name) {
					names = append(names, name)
				}
			}
		}
	})
	return names
}

// drives are what the CD-ROM drives of a machine hold.
func (l *lab) drives(vmid int) (list []string) {
	for key, value := range l.guests()[vmid] {
		if strings.Contains(value, "media=cdrom") {
			list = append(list, key+"="+value)
		}
	}
	slices.Sort(list)
	return list
}

func seeded(userData string, once bool) model.VM {
	vm := machine(2)
	vm.Seed = &model.Seed{Storage: "local", Once: once, Files: map[string][]byte{"user-data": []byte(userData), "meta-data": []byte("{}\n")}}
	return vm
}

// TestFirstBootDataThatWereDroppedDontComeBack: neither with the same data nor with others, nor in another process; a
// machine that is made anew has its own again.
func TestFirstBootDataThatWereDroppedDontComeBack(t *testing.T) {
	for name, once := range map[string]bool{"cloud-init": false, "ignition": true} {
		t.Run(name, func(t *testing.T) {
			inLab(t, func(t *testing.T, l *lab) {
				s := l.open(site.Options{})
				web := owner("shop", "web")
				l.put(s, seeded("#cloud-config\n{token: secret}\n", once), web)
				vmid := l.await(s, web, site.Ready).VMID
				if got, drives := l.isos(), l.drives(vmid); len(got) != 1 || len(drives) != 1 {
					t.Fatalf("before: %v, %v", got, drives)
				}
				boot := l.booted(vmid)
				l.drop(s, web)
				l.quiet(func() bool { return len(l.isos()) == 0 })
				if drives := l.drives(vmid); len(drives) != 1 || !strings.Contains(drives[0], "=none,") {
					t.Errorf("its drives: %v", drives)
				}
				l.drop(s, web) // does nothing
				s.Close()

				for _, vm := range []model.VM{seeded("#cloud-config\n{token: secret}\n", once), seeded("#cloud-config\n{token: other}\n", once), machine(2)} {
					next := l.open(site.Options{})
					l.put(next, vm, web)
					l.await(next, web, site.Ready)
					l.quiet(func() bool { return true })
					if p, err := next.Plan(t.Context(), next.Desired()); err != nil || !p.Unchanged() {
						t.Errorf("%+v, %v", p, err)
					}
					next.Close()
				}
				if got := l.isos(); len(got) > 0 || l.booted(vmid) != boot {
					t.Errorf("%v, booted at %v and before at %v", got, l.booted(vmid), boot)
				}

				last := l.open(site.Options{})
				defer last.Close()
				l.sim.Do(func(s *pvesim.State) { delete(s.VMs, vmid) })
				l.put(last, seeded("#cloud-config\n{token: new}\n", once), web)
				again := l.await(last, web, site.Ready).VMID
				if drives := l.drives(again); len(l.isos()) != 1 || len(drives) != 1 || strings.Contains(drives[0], "=none,") {
					t.Errorf("made anew: %v, %v", l.isos(), drives)
				}
			})
		})
	}
}

func (l *lab) drop(s *site.Site, o model.Owner) {
	l.t.Helper()
	if err := s.DropSeed(l.t.Context(), o); err != nil {
		l.t.Fatal(err)
	}
}

// booted is when a machine was started.
func (l *lab) booted(vmid int) (at time.Time) {
	l.sim.Do(func(s *pvesim.State) { at = s.VMs[vmid].Run.Started })
	return at
}

// quiet waits until something is so, and then for some rounds of looking.
func (l *lab) quiet(so func() bool) {
	l.t.Helper()
	for range 100 {
		time.Sleep(5 * time.Second) // of virtual time
		if so() {
			time.Sleep(2 * time.Minute)
			return
		}
	}
	l.t.Fatal("it never came about")
}
