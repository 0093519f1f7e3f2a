package karpenter_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

// awaitWrites waits until something was changed in Proxmox so many times, or all machines run.
func (s *story) awaitWrites(n int) {
	for at := s.pve.RequestCount(); n > 0 && s.running() < 10; {
		s.pve.AwaitRequests(s.t.Context(), at+1)
		for _, r := range s.pve.Requests(at) {
			if at++; r.Method != "GET" && !strings.Contains(r.URL, "/agent/") {
				n--
			}
		}
	}
}

// running counts the machines that run.
func (s *story) running() (n int) {
	s.pve.Do(func(st *pvesim.State) {
		for _, vm := range st.VMs {
			if vm.Run != nil {
				n++
			}
		}
	})
	return n
}

// oneEach holds that Proxmox was asked for one VM of each NodeClaim that there ever was, under one VMID.
func (s *story) oneEach() {
	s.t.Helper()
	ids := map[string]map[string]bool{}
	for _, r := range s.pve.Requests(0) {
		if r.Method == "POST" && strings.HasSuffix(r.URL, "/clone") {
			name := r.Params["name"]
			if ids[name] == nil {
				ids[name] = map[string]bool{}
			}
			ids[name][r.Params["newid"]] = true
		}
	}
	for name, all := range ids {
		if len(all) > 1 {
			s.t.Errorf("NodeClaim %s was to have the VMs %v", name, slices.Sorted(maps.Keys(all)))
		}
	}
	s.t.Logf("%d NodeClaims had machines, and %d are there", len(ids), len(s.claims()))
}

// However often the controllers are killed while they make ten machines: there are ten, each for one NodeClaim, and nothing else.
// The story runs before all others, since these share controllers.
func TestKilledControllersMakeNoMachineTwice(t *testing.T) {
	shared = control(t, "--alone")
	s := beginAlone(t, "killed")
	s.await(func() string { // it is known what machines are made from
		out, err := plane.Kubectl(t.Context(), "get", "proxmoxnodeclass", s.name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`).CombinedOutput()
		if err != nil || string(out) != "True" {
			return fmt.Sprintf("the class isn't ready: %s", out)
		}
		return ""
	})
	s.load(10, "1", true)
	kills := 0
	for s.running() < 10 && kills < 40 {
		s.awaitWrites(2)
		shared.kill()
		kills++
		shared = control(t, "--alone")
	}
	t.Logf("%d kills", kills)
	if kills < 5 {
		t.Errorf("only %d kills were while machines were made", kills)
	}
	s.awaitReady(10)
	s.awaitMachines(10)
	s.oneEach()
	vms := s.machines()
	for _, c := range s.claims() {
		id, err := strconv.Atoi(c.Status.ProviderID[strings.LastIndex(c.Status.ProviderID, "/")+1:])
		if _, there := vms[id]; err != nil || !there {
			t.Errorf("NodeClaim %s has %s, which isn't there", c.Name, c.Status.ProviderID)
		}
		delete(vms, id)
	}
	if len(vms) > 0 {
		t.Errorf("nobody has the VMs %v", vms)
	}
	s.scale(0)
	s.awaitMachines(0)
	if left := s.seeds(); len(left) > 0 {
		t.Errorf("the seeds %v are left", left)
	}
	shared.kill()
	shared = nil
}
