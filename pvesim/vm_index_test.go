package pvesim

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/proxplane/proxplane/test/kit/chance"
)

// counted is what the index says, without entries of zero.
func counted(ix *guestIndex) map[string]any {
	memory := map[string]int64{}
	for node, n := range ix.memory {
		if n != 0 {
			memory[node] = n
		}
	}
	return map[string]any{"memory": memory, "tags": ix.tags, "macs": ix.macs}
}

// TestTheIndexOfGuestsSaysWhatCountingWouldSay does whatever changes guests,
// in any order, and compares the index with one that is made anew.
func TestTheIndexOfGuestsSaysWhatCountingWouldSay(t *testing.T) {
	sim, err := New(labWorld("9.2"))
	if err != nil {
		t.Fatal(err)
	}
	tr, stop := sim.Transport()
	defer sim.Close()
	defer stop()
	root := (&office{t: t, sim: sim, http: &http.Client{Transport: tr}}).root()
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			vmid := rapid.IntRange(100, 103).Draw(rt, "vmid")
			path := fmt.Sprintf("/nodes/pve1/qemu/%d", vmid)
			switch rapid.IntRange(0, 8).Draw(rt, "what") {
			case 0:
				root.post("/nodes/pve1/qemu", "vmid", itoa(vmid), "memory", "64", "tags", "a;b", "net0", "virtio,bridge=vmbr0")
			case 1:
				root.post(path + "/status/start")
			case 2:
				root.post(path + "/status/stop")
			case 3:
				root.delete(path)
			case 4:
				root.put(path+"/config", "tags", rapid.SampledFrom([]string{"a", "b;c", ""}).Draw(rt, "tags"))
			case 5:
				root.put(path+"/config", "delete", "net0,tags")
			case 6:
				root.put(path+"/config", "net1", "virtio=02:00:00:00:00:0"+itoa(vmid%10)+",bridge=vmbr0", "memory", "128")
			case 7:
				root.post(path+"/clone", "newid", itoa(rapid.IntRange(100, 103).Draw(rt, "newid")))
			case 8:
				root.post(path+"/migrate", "target", "pve2", "online", "1")
			}
			waitTasks(t, sim)
		}
		sim.mu.Lock()
		have := counted(sim.guests())
		sim.guestsReplaced()
		want := counted(sim.guests())
		sim.mu.Unlock()
		if diff := cmp.Diff(want, have); diff != "" {
			rt.Fatalf("the index is wrong (-want +have):\n%s", diff)
		}
	})
}

func TestAFreedVMIDIsTheNextOneAgain(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		next := func(want string) {
			t.Helper()
			if got := l.must("GET", "/cluster/nextid"); got != want {
				t.Errorf("the next VMID is %v, want %s", got, want)
			}
		}
		l.create()
		l.run("POST", "/nodes/pve1/qemu", "vmid", "101")
		next("102")
		l.run("DELETE", labVM)
		next("100")
		l.must("PUT", "/cluster/options", "next-id", "lower=101")
		next("102")
		l.sim.Do(func(st *State) { delete(st.VMs, 101) })
		next("101")
	})
}
