package pvesim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheStateSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	sim, b := startSim(t, quietWorld(), WithData(dir))
	b.do("POST", "/api2/json/nodes/pve1/qemu", "application/x-www-form-urlencoded", "vmid=150&name=kept&scsi0=local-lvm:4")
	waitTasks(t, sim)
	if err := sim.Close(); err != nil {
		t.Fatal(err)
	}
	again, _ := startSim(t, quietWorld(), WithData(dir))
	again.Do(func(st *State) {
		vm := st.VMs[150]
		if vm == nil || vm.Name() != "kept" {
			t.Fatalf("VM 150 after the restart: %+v", vm)
		}
		if sp := st.Spaces[SpaceKey{Storage: "local-lvm", Node: "pve1"}]; len(sp.ofVM(150)) != 1 {
			t.Errorf("its disks: %v", sp.ofVM(150))
		}
	})
	old := quietWorld()
	old.Release = "8.4"
	if _, err := New(old, WithData(dir)); err == nil || !strings.Contains(err.Error(), "release") {
		t.Errorf("opened as another release: %v", err)
	}
}

func TestTheHAManagerGoesOnAfterARestart(t *testing.T) {
	dir := t.TempDir()
	sim, b := startSim(t, quietWorld(), WithData(dir))
	b.do("POST", "/api2/json/nodes/pve1/qemu", "application/x-www-form-urlencoded", "vmid=150&name=kept")
	waitTasks(t, sim)
	sim.Do(func(st *State) { st.HA.Resources["vm:150"] = map[string]string{"state": "started"} }) // asked for in the last moment
	if err := sim.Close(); err != nil {
		t.Fatal(err)
	}
	again, _ := startSim(t, quietWorld(), WithData(dir))
	waitTasks(t, again)
	again.Do(func(st *State) {
		if st.VMs[150].Run == nil {
			t.Error("the VM wasn't started")
		}
	})
}

func TestAKilledSimulatorHasKeptWhatItSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		killed, b := startSim(t, quietWorld(), WithData(dir))
		killed.Advance(5 * time.Hour)
		b.do("POST", "/api2/json/nodes/pve1/qemu", "application/x-www-form-urlencoded", "vmid=150&name=kept")
		waitTasks(t, killed)
		b.get("/api2/json/nodes/pve1/tasks") // it says that the task has ended
		kept, err := os.ReadFile(filepath.Join(dir, "state.json"))
		if err != nil {
			t.Fatal(err)
		}
		other := t.TempDir()
		if err := os.WriteFile(filepath.Join(other, "state.json"), kept, 0o600); err != nil {
			t.Fatal(err)
		}
		again, _ := startSim(t, quietWorld(), WithData(other))
		again.Do(func(st *State) {
			if st.VMs[150] == nil || len(st.Tasks["pve1"]) != 1 || st.Tasks["pve1"][0].Exit != "OK" {
				t.Errorf("VM 150 is %v, the tasks are %v", st.VMs[150], st.Tasks)
			}
		})
		if again.Now().Before(killed.Now()) {
			t.Errorf("the clock went back from %v to %v", killed.Now(), again.Now())
		}
	})
}
