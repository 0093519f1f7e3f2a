package pvesim

import (
	"testing"
	"testing/synctest"
	"time"
)

// inHALab runs a test in a cluster whose HA manager works, with rounds of 10 s.
func inHALab(t *testing.T, test func(t *testing.T, l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := labWorld("9.2")
		w.Nodes = append(w.Nodes, WorldNode{Name: "pve3", CPUs: 8, Memory: 32 << 30})
		w.Load.HARound, w.Timing.Destroy = Duration(10*time.Second), Duration(2*time.Second)
		depot(t, w, test)
	})
}

// haState is the state of VM 100 as its status shows it.
func (l *lab) haState() any {
	l.t.Helper()
	ha, ok := l.must("GET", labVM+"/status/current").(map[string]any)["ha"].(map[string]any)
	if !ok {
		l.t.Fatal("the status says nothing about HA")
	}
	return ha["state"]
}

func (l *lab) powered() bool {
	return l.must("GET", labVM+"/status/current").(map[string]any)["status"] == "running"
}

// A VM is destroyed, and gets under HA while that goes on. pve-ha-manager: the local agent
// answers EWRONG_NODE, to the start and to the move that is tried then.
func TestAResourceWithoutItsVMGetsIntoTheStateError(t *testing.T) {
	inHALab(t, func(t *testing.T, l *lab) {
		l.create()
		upid := l.must("DELETE", labVM)
		l.must("POST", "/cluster/ha/resources", "sid", "vm:100")
		l.ended(upid)
		time.Sleep(time.Minute)
		l.create()
		if state := l.haState(); state != "error" {
			t.Fatalf("the state is %v, want error", state)
		}

		// To ask for a start does nothing, and neither does to come back within a round.
		l.run("POST", labVM+"/status/start")
		l.must("DELETE", "/cluster/ha/resources/vm:100")
		l.must("POST", "/cluster/ha/resources", "sid", "vm:100")
		time.Sleep(time.Minute)
		if state := l.haState(); state != "error" || l.powered() {
			t.Errorf("the state is %v, runs: %t", state, l.powered())
		}

		// Disabled, it is stopped from the next round on, and can be started.
		l.must("PUT", "/cluster/ha/resources/vm:100", "state", "disabled")
		if state := l.haState(); state != "error" {
			t.Errorf("before the round the state is %v", state)
		}
		time.Sleep(11 * time.Second)
		if state := l.haState(); state != "stopped" {
			t.Errorf("after it is disabled the state is %v", state)
		}
		l.run("POST", labVM+"/status/start")
		time.Sleep(11 * time.Second)
		if state := l.haState(); state != "started" || !l.powered() {
			t.Errorf("after the start the state is %v, runs: %t", state, l.powered())
		}
	})
}

func TestAResourceThatDoesNotStartGetsIntoTheStateError(t *testing.T) {
	inHALab(t, func(t *testing.T, l *lab) {
		l.create()
		if _, err := l.sim.AddFault(Fault{Task: "qmstart", Error: "start failed: QEMU exited with code 1"}); err != nil {
			t.Fatal(err)
		}
		l.must("POST", "/cluster/ha/resources", "sid", "vm:100")
		time.Sleep(2 * time.Minute)
		if state := l.haState(); state != "error" {
			t.Fatalf("the state is %v, want error", state)
		}
		starts := len(l.must("GET", "/nodes/pve1/tasks", "typefilter", "qmstart").([]any))
		time.Sleep(10 * time.Minute)
		if now := len(l.must("GET", "/nodes/pve1/tasks", "typefilter", "qmstart").([]any)); now != starts || now != 1+haTries {
			t.Errorf("%d starts at first, %d in the end", starts, now)
		}

		// Removed for a round, the manager knows nothing of it any more.
		l.must("DELETE", "/cluster/ha/resources/vm:100")
		time.Sleep(11 * time.Second)
		l.must("POST", "/cluster/ha/resources", "sid", "vm:100", "state", "stopped")
		time.Sleep(11 * time.Second)
		if state := l.haState(); state != "stopped" {
			t.Errorf("added again, the state is %v", state)
		}
	})
}

// pve-ha-manager: the local agent runs one command at a time for a resource, and judges by how that ended. A start that
// waits for the lock of the config hasn't failed.
func TestTheHAManagerWaitsForItsOwnStart(t *testing.T) {
	inHALab(t, func(t *testing.T, l *lab) {
		l.create()
		if _, err := l.sim.AddFault(Fault{Task: "qmstart", Delay: Duration(90 * time.Second)}); err != nil {
			t.Fatal(err)
		}
		l.must("POST", "/cluster/ha/resources", "sid", "vm:100")
		time.Sleep(3 * time.Minute)
		if state := l.haState(); state != "started" || !l.powered() {
			t.Errorf("the state is %v, runs: %t", state, l.powered())
		}
		if starts := len(l.must("GET", "/nodes/pve1/tasks", "typefilter", "qmstart").([]any)); starts != 1 {
			t.Errorf("%d starts", starts)
		}
	})
}

// pve-ha-manager: a resource that is removed or ignored is forgotten, and its VM left as it is.
func TestAVMRunsOnWhenItsResourceIsRemovedInTheStateError(t *testing.T) {
	inHALab(t, func(t *testing.T, l *lab) {
		l.create()
		id, err := l.sim.AddFault(Fault{Task: "qmstart", Error: "start failed: QEMU exited with code 1"})
		if err != nil {
			t.Fatal(err)
		}
		l.must("POST", "/cluster/ha/resources", "sid", "vm:100")
		time.Sleep(2 * time.Minute)
		if state := l.haState(); state != "error" {
			t.Fatalf("the state is %v, want error", state)
		}
		l.sim.RemoveFault(id)
		l.must("DELETE", "/cluster/ha/resources/vm:100")
		l.run("POST", labVM+"/status/start")
		time.Sleep(2 * time.Minute)
		if !l.powered() {
			t.Error("the VM was stopped")
		}
	})
}
