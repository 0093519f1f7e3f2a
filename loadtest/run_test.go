package loadtest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
)

// inLab has a load of six machines, three at once, on a simulator in virtual time.
func inLab(t *testing.T, test func(t *testing.T, sim *pvesim.Sim, l *Load)) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(t)
		tr, stop := sim.Transport()
		t.Cleanup(stop)
		l := &Load{
			Machines: Machines{Set: "loadtest", Count: 6, Image: "ubuntu-22-template", ISOStorage: "local", Memory: "512Mi"},
			Parallel: 3, Meter: &Meter{}, Progress: func(Figures) {},
		}
		l.Sites, l.Config = new(site.Sites), site.Config{Proxmox: pve.Config{
			Endpoints: []string{"https://pve1:8006"}, Credentials: pve.Password("root@pam", "proxplane"), RoundTripper: tr, Observe: l.Meter.Observe,
		}}
		s, err := l.Sites.Open(l.Config, site.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		seen := s.Observer()
		l.Describe = func(ctx context.Context, vmid int) error {
			return errors.Join(seen.Config(ctx, vmid), seen.Status(ctx, vmid))
		}
		test(t, sim, l)
	})
}

func guests(sim *pvesim.Sim) (names []string) {
	sim.Do(func(s *pvesim.State) {
		for _, vm := range s.VMs {
			names = append(names, vm.Name())
		}
	})
	slices.Sort(names)
	return names
}

func TestALoadDoesWhatItSaysAndIsRemoved(t *testing.T) {
	inLab(t, func(t *testing.T, sim *pvesim.Sim, l *Load) {
		before := sim.RequestCount()
		figures, err := l.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		requests := 0.0
		for _, f := range figures {
			if f.Done != l.Count || f.Failed != 0 || f.P50 == 0 || f.P99 < f.P50 || f.PerMinute == 0 {
				t.Errorf("%+v", f)
			}
			requests += f.Requests * float64(l.Count)
		}
		if len(figures) != len(order) {
			t.Errorf("%d operations", len(figures))
		}
		// What the session asks between the operations is nobody's.
		if seen := float64(sim.RequestCount() - before); requests > seen || requests < seen-30 {
			t.Errorf("the operations count %v requests, the simulator has seen %v", requests, seen)
		}
		sim.Do(func(s *pvesim.State) {
			linked, snapshots, cpus := 0, 0, 0
			for _, vm := range s.VMs {
				switch {
				case strings.HasSuffix(vm.Name(), "-copy") && strings.Contains(vm.Conf["scsi0"], "base-9000"):
					linked++
				case vm.Conf["vcpus"] == "2" && vm.Run == nil:
					cpus++
				}
				for _, snap := range vm.Snaps {
					if snap.Conf["vmstate"] != "" {
						snapshots++
					}
				}
			}
			if linked != l.Count || snapshots != l.Count || cpus != l.Count {
				t.Errorf("%d linked clones, %d snapshots with memory, %d machines with two CPUs that are off", linked, snapshots, cpus)
			}
		})
		if removed, err := l.Clean(t.Context()); err != nil || removed != 2*l.Count {
			t.Errorf("%d removed, %v", removed, err)
		}
		if left := guests(sim); len(left) != 1 {
			t.Errorf("left: %v", left)
		}
		sim.Do(func(s *pvesim.State) {
			for key, space := range s.Spaces {
				for name := range maps.Keys(space.Volumes) {
					if !strings.Contains(name, "9000") {
						t.Errorf("left on %v: %s", key, name)
					}
				}
			}
		})
	})
}

func TestWhatFailsIsCountedAndTheOthersGoOn(t *testing.T) {
	inLab(t, func(t *testing.T, sim *pvesim.Sim, l *Load) {
		if _, err := sim.AddFault(pvesim.Fault{Task: "qmstart", Error: "no such bridge", VM: 0, Nth: 2}); err != nil {
			t.Fatal(err)
		}
		if _, err := sim.AddFault(pvesim.Fault{Method: "POST", Path: "/nodes/*/qemu/*/snapshot", Status: 400, Reason: "Parameter verification failed."}); err != nil {
			t.Fatal(err)
		}
		figures, err := l.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), Snapshot+" failed each time") {
			t.Errorf("%v", err)
		}
		last := figures[len(figures)-1]
		if last.Operation != Snapshot || last.Failed != l.Count || last.Done != 0 || last.Samples[0].Error == "" {
			t.Errorf("%+v", last)
		}
		sim.RemoveFault(0)
		if _, err := l.Clean(t.Context()); err != nil || len(guests(sim)) != 1 {
			t.Errorf("%v, left: %v", err, guests(sim))
		}
	})
}

func TestALoadThatIsStoppedEndsAndTheNextOneRemovesIt(t *testing.T) {
	inLab(t, func(t *testing.T, sim *pvesim.Sim, l *Load) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 4*time.Second, errors.New("enough"))
		defer cancel()
		figures, err := l.Run(ctx)
		if err == nil || err.Error() != "enough" || len(figures) == 0 || len(figures) == len(order) {
			t.Errorf("%v after %d operations", err, len(figures))
		}
		if len(guests(sim)) == 1 {
			t.Fatal("there is nothing to remove")
		}
		if removed, err := l.Clean(t.Context()); err != nil || removed == 0 || len(guests(sim)) != 1 {
			t.Errorf("%d removed, %v, left: %v", removed, err, guests(sim))
		}
		if removed, err := l.Clean(t.Context()); err != nil || removed != 0 {
			t.Errorf("nothing is left, and %d are removed, %v", removed, err)
		}
	})
}
