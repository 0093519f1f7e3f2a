package act_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/admission"
	"github.com/proxplane/proxplane/pvesim"
)

// crowd keeps the node of all guests busy until the returned function is called.
func (l *lab) crowd() (end func()) {
	l.t.Helper()
	var slots []*admission.Slot
	for range 128 { // as many writes as a node gets at first
		slot, err := l.turns.Acquire(l.t.Context(), admission.Key{Node: "pve1", Op: "other work"}, admission.Write)
		if err != nil {
			l.t.Fatal(err)
		}
		slots = append(slots, slot)
	}
	return func() {
		for _, s := range slots {
			s.Release(admission.Outcome{Failed: true})
		}
	}
}

// What needs no fresh proof isn't read again, however long its turn is waited for: Proxmox compares digests, and nobody knows whose a
// guest without a marker was.
func TestWhatNeedsNoProofIsDoneAfterAnyWait(t *testing.T) {
	for reason, c := range map[string]struct {
		action model.Action
		known  act.Known
	}{
		"nobody's guest is started": {model.Start{Target: at(101)}, act.Known{}},
		"a config by its digest":    {model.Configure{Target: at(100), Set: map[string]string{"cores": "2"}}, act.Known{Node: "pve1", Owner: us}},
	} {
		t.Run(reason, func(t *testing.T) {
			inLab(t, "9.2", func(t *testing.T, l *lab) {
				action, end := l.seen(c.action), l.crowd()
				done := make(chan error, 1)
				go func() {
					_, err := l.actor.Do(t.Context(), action, c.known)
					done <- err
				}()
				time.Sleep(time.Minute)
				synctest.Wait()
				end()
				if err := <-done; err != nil {
					t.Error(err)
				}
				if n := l.asked("GET /api2/json/nodes"); n != 0 {
					t.Errorf("%d configs were read", n)
				}
			})
		})
	}
}

func TestAGuestThatBecomesSomebodyElsesWhileItsTurnIsWaitedForIsLeftAlone(t *testing.T) {
	for reason, action := range map[string]model.Action{
		"it was to be destroyed":     model.Destroy{Target: at(100), Owner: us, Owned: true},
		"it was to have a snapshot":  model.Snap{Target: at(100), Name: "before"},
		"it was to be started":       model.Start{Target: at(100)},
		"its disk was to grow":       model.Resize{Target: at(100), Slot: "scsi0", Size: 8 << 30},
		"it was to be a template":    model.MakeTemplate{Target: at(100)},
		"it was to be on other node": model.Migrate{Target: at(100), To: "pve2"},
	} {
		t.Run(reason, func(t *testing.T) {
			inLab(t, "9.2", func(t *testing.T, l *lab) {
				end := l.crowd()
				done := make(chan error, 1)
				go func() {
					_, err := l.actor.Do(t.Context(), action, act.Known{Node: "pve1", Owner: us})
					done <- err
				}()
				time.Sleep(time.Minute)
				synctest.Wait()
				l.sim.Do(func(s *pvesim.State) { s.VMs[100].Conf["description"] = "mine now" })
				end()
				if err := <-done; err == nil {
					t.Error("it was done all the same")
				}
				if n := l.asked("DELETE /api2/json/nodes") + l.asked("POST /api2/json/nodes") + l.asked("PUT /api2/json/nodes"); n != 0 {
					t.Errorf("%d changes were asked for", n)
				}
			})
		})
	}
}

func TestATurnThatIsWaitedForIsUsedForWhatIsStillOurs(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		end := l.crowd()
		done := make(chan error, 1)
		go func() {
			_, err := l.actor.Do(t.Context(), model.Snap{Target: at(100), Name: "before"}, act.Known{Node: "pve1", Owner: us})
			done <- err
		}()
		time.Sleep(time.Minute)
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := l.asked("/config"); n != 1 {
			t.Errorf("its config was read %d times", n)
		}
	})
}

// Snapshots have names, and the same name may be somebody else's by then.
func TestASnapshotThatBecomesSomebodyElsesWhileItsTurnIsWaitedForIsLeftAlone(t *testing.T) {
	note := func(version string) string {
		return model.Describe("", model.Marker{Owner: us, Version: version})
	}
	for reason, action := range map[string]model.Action{
		"it was to be deleted":     model.Unsnap{Target: at(100), Name: "before", Owner: us},
		"it was to be rolled back": model.Rollback{Target: at(100), Name: "before", Note: note("2")},
	} {
		t.Run(reason, func(t *testing.T) {
			inLab(t, "9.2", func(t *testing.T, l *lab) {
				l.must(model.Configure{Target: at(100), Disks: []model.NewDisk{{Disk: model.Disk{Slot: "scsi1", Storage: "local", Size: 1 << 30, Format: "qcow2"}}}, Delete: []string{"scsi0"}})
				l.must(model.Snap{Target: at(100), Name: "before", Description: note("1")})
				done := make(chan error, 1)
				var end func()
				if _, rolls := action.(model.Rollback); !rolls {
					end = l.crowd()
				} else {
					// Its notes are written before; the node gets busy then.
					if _, err := l.sim.AddFault(pvesim.Fault{Method: "PUT", Path: "/nodes/*/qemu/*/snapshot/*/config", Delay: pvesim.Duration(10 * time.Second), Times: 1}); err != nil {
						t.Fatal(err)
					}
				}
				before := l.sim.RequestCount()
				go func() {
					_, err := l.actor.Do(t.Context(), action, act.Known{Node: "pve1", Owner: us})
					done <- err
				}()
				if end == nil {
					time.Sleep(5 * time.Second)
					end = l.crowd()
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				l.sim.Do(func(s *pvesim.State) { s.VMs[100].Snaps["before"].Conf["description"] = "mine now" })
				end()
				if err := <-done; err == nil {
					t.Error("it was done all the same")
				}
				for _, r := range l.sim.Requests(before) {
					if r.Method == "DELETE" || r.Method == "POST" {
						t.Errorf("%s %s was asked for", r.Method, r.URL)
					}
				}
			})
		})
	}
}
