package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// A Provider whose endpoint leads to another Proxmox: the machines are still on the former
// one, and no second ones are made, before somebody says that this is meant.
func TestMachinesArentMadeAgainInAnotherProxmox(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web", "provider/proxmox")
	first := s.field("provider/proxmox", ".status.proxmox")

	w := pvesim.DefaultWorld()
	sim.Quick(w)
	sim.Uneven(w)
	other := s.serve(w, pvesim.WithSeed(2))
	s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"endpoint":%q}}`, other.Endpoint))
	s.waits("provider/proxmox", "this is another Proxmox: its root certificate is .*, not "+first+"; put the endpoint back; or, .* kubectl annotate")
	s.apply(machine("new"))
	s.waits("vm/new", "this is another Proxmox")
	s.until("nobody says that it can be reached", func() bool {
		return s.field("vm/web", `.status.conditions[?(@.type=="Reachable")].status`) == "Unknown"
	})
	s.kubectl("delete", "vm", "web", "--wait=false")
	s.waits("vm/web", "this is another Proxmox")
	if machinesOf(other) != "" || s.machines() != "web" {
		t.Fatalf("there is %q, and in the other Proxmox %q", s.machines(), machinesOf(other))
	}
	if now := s.field("provider/proxmox", ".status.proxmox"); now != first {
		t.Errorf("what was written down was overwritten: %s", now)
	}

	s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"endpoint":%q}}`, s.pve.Endpoint))
	s.waitFor("--for=condition=Ready", "vm/new", "provider/proxmox")
	s.waitFor("--for=delete", "vm/web")

	// Whoever means it says so, with the command that the Provider told.
	s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"endpoint":%q}}`, other.Endpoint))
	s.waits("provider/proxmox", "this is another Proxmox")
	_, command, _ := strings.Cut(s.field("provider/proxmox", ".status.waiting"), "kubectl ")
	s.kubectl(strings.Fields(command)...)
	s.waitFor("--for=condition=Ready", "provider/proxmox")
	s.until("the machine is made there", func() bool { return machinesOf(other) == "new" })
}

// A Provider that has no machines may lead anywhere.
func TestAProviderWithoutMachinesMayLeadElsewhere(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.waitFor("--for=condition=Ready", "provider/proxmox")
	first := s.field("provider/proxmox", ".status.proxmox")
	w := pvesim.DefaultWorld()
	sim.Quick(w)
	sim.Uneven(w)
	other := s.serve(w, pvesim.WithSeed(2))
	s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"endpoint":%q}}`, other.Endpoint))
	s.until("it is written down", func() bool { now := s.field("provider/proxmox", ".status.proxmox"); return now != "" && now != first })
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
}
