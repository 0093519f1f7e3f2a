package pvesim

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// took is how long a request and its task take.
func (l *lab) took(method, path string, params ...string) time.Duration {
	l.t.Helper()
	start := time.Now()
	l.run(method, path, params...)
	return time.Since(start)
}

func TestASlowStorageTakesItsTime(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1")
		usual := l.took("POST", labVM+"/clone", "newid", "101", "full", "1", "storage", "local")
		if _, err := l.sim.AddFault(Fault{Path: "/version", Slow: 5, Storage: "thin", For: Duration(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		l.must("GET", "/version")
		if other := l.took("POST", labVM+"/clone", "newid", "102", "full", "1", "storage", "local"); other != usual {
			t.Errorf("a storage that isn't slow takes %v instead of %v", other, usual)
		}
		slow := l.took("POST", labVM+"/clone", "newid", "103", "full", "1", "storage", "thin")
		if slow < 4*usual {
			t.Errorf("a copy to the slow storage takes %v, to others %v", slow, usual)
		}
		time.Sleep(time.Hour)
		if after := l.took("POST", labVM+"/clone", "newid", "104", "full", "1", "storage", "thin"); after > 2*usual {
			t.Errorf("when it's over, it still takes %v", after)
		}
	})
}

func TestAHeldLockMakesOthersWait(t *testing.T) {
	cases := []struct {
		hold, want string
		room       int
	}{
		{"config", "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout", 0},
		{"storage:thin", "can't lock file '/var/lock/pve-manager/pve-storage-thin' - got timeout", 0},
		{"storage:thin", "can't lock file '/var/lock/pve-manager/pve-storage-thin' - got timeout", 3},
		{"storage:share", "cfs-lock 'storage-share' error: got lock request timeout", 1},
	}
	for _, c := range cases {
		inTown(t, "9.2", func(w *World) { w.Locks.Storage = c.room }, func(t *testing.T, l *lab) {
			l.create()
			if _, err := l.sim.AddFault(Fault{Method: "PUT", Path: "/nodes/*/qemu/*/config", Times: 1, Hold: c.hold, For: Duration(15 * time.Second)}); err != nil {
				t.Fatal(err)
			}
			storage := strings.TrimPrefix(c.hold, "storage:")
			if storage == "config" {
				storage = "thin"
			}
			l.refuses(500, c.want, "scsi0", storage+":1")
			l.set("scsi0", storage+":1") // waits for the rest of the time
		})
	}
}

func TestTasksMayBeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quietWorld()
		w.Timing.Task = Duration(time.Second)
		sim, b := startSim(t, w)
		if _, err := sim.AddFault(Fault{Task: "qmcreate", Delay: Duration(time.Minute)}); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		b.do("POST", "/api2/json/nodes/pve1/qemu", "application/x-www-form-urlencoded", "vmid=150")
		waitTasks(t, sim)
		if took := time.Since(start); took < 61*time.Second {
			t.Errorf("it took %v", took)
		}
		sim.Do(func(st *State) {
			if st.VMs[150] == nil {
				t.Error("a late task does its work all the same")
			}
		})
	})
}

func TestANodeThatIsAwayAnswersNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, b := startSim(t, quietWorld())
		if _, err := sim.AddFault(Fault{Path: "/version", Away: "pve1", For: Duration(time.Minute)}); err != nil {
			t.Fatal(err)
		}
		b.get("/api2/json/version") // strikes, and is answered
		if status, _, _, err := b.do("GET", "/api2/json/nodes/pve2/status", "", ""); err == nil {
			t.Errorf("the node that is away answers with %d", status)
		}
		sim.RemoveFault(0)
		time.Sleep(time.Minute)
		if status, _ := b.get("/api2/json/nodes/pve2/status"); status != 200 {
			t.Errorf("back again, it answers with %d", status)
		}
		if _, err := sim.AddFault(Fault{Away: "pve9"}); err == nil {
			t.Error("a fault takes a node away that isn't there")
		}
	})
}
