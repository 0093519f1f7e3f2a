package operator_test

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

// Each condition says one thing, with a reason and a sentence of its own.
func TestConditionsStandAlone(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web") + strings.NewReplacer("small", "other").Replace(machine("db")))
	s.waitFor("--for=condition=Ready", "vm/web", "vm/db")
	s.waitFor("--for=condition=UpToDate", "vm/web")
	s.waitFor("--for=condition=Reachable", "vm/web")
	s.waitFor("--for=condition=RestartRequired=false", "vm/web")
	s.apply(strings.NewReplacer("cpus: 2", "cpus: 4", "memory: 2Gi", "memory: 8Gi").Replace(machine("web")))
	s.waitFor("--for=condition=RestartRequired", "vm/web")
	s.waitFor("--for=condition=UpToDate=false", "vm/web")
	const message = `.status.conditions[?(@.type=="RestartRequired")].message`
	if text := s.field("vm/web", message); text != "runs with 2 CPUs, 2 GiB; 4 CPUs, 8 GiB apply at the next restart: restart it, or set spec.updatePolicy.restart: Allow" {
		t.Errorf("it says %q", text)
	}
	// What can't be asked is as it was seen last, and says so.
	fault, err := s.pve.AddFault(pvesim.Fault{Path: "**", Drop: "before"})
	if err != nil {
		t.Fatal(err)
	}
	s.until("it says that Proxmox is away", func() bool { return s.field("vm/db", `.status.conditions[?(@.type=="Reachable")].status`) == "Unknown" })
	if ready := s.field("vm/db", `.status.conditions[?(@.type=="Ready")].status`); ready != "True" {
		t.Errorf("Ready is %s", ready)
	}
	s.pve.RemoveFault(fault)
	s.waitFor("--for=condition=Reachable", "vm/db")
}
