package operator_test

import (
	"testing"
	"time"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

const ready = `.status.conditions[?(@.type=="Ready")].status`

// A machine whose agent says nothing isn't ready, neither for the operator that has made
// it nor for the next one.
func TestReadyMeansTheSameAfterARestart(t *testing.T) {
	t.Parallel()
	s := begin(t, func(w *pvesim.World) { w.Timing.Agent = pvesim.Duration(held) })
	first := s.operate("--alone")
	s.provide()
	s.apply(machine("web"))
	s.waits("vm/web", "its guest agent hasn't reported an address")
	first.Kill()
	s.kubectl("patch", "vm", "web", "--type=merge", "-p", `{"metadata":{"annotations":{"seen":"by-the-next"}},"spec":{"description":"as the next operator knows it"}}`)
	s.operate("--alone")
	s.until("the next operator has worked on it", func() bool { return s.conf("web", "description") != "" && s.observed("vm/web") })
	s.waits("vm/web", "its guest agent hasn't reported an address")
	if is := s.field("vm/web", ready); is != "False" {
		t.Errorf("Ready is %s", is)
	}
	s.release() // the agent is up
	s.waitFor("--for=condition=Ready", "vm/web")
	if s.field("vm/web", ".status.addresses[0]") == "" || s.field("vm/web", ".status.verifiedAt") == "" {
		t.Errorf("its status is %s", s.field("vm/web", ".status"))
	}
}

// observed reports whether the operator has seen the present edition of an object.
func (s *story) observed(object string) bool {
	return s.field(object, ".status.observedGeneration") == s.field(object, ".metadata.generation")
}

func TestARenameByHandIsCorrected(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	if at, err := time.Parse(time.RFC3339, s.field("vm/web", ".status.verifiedAt")); err != nil || time.Since(at) > patience {
		t.Errorf("it was verified at %v: %v", at, err)
	}
	if err := s.pve.Touch(t.Context(), "web", "PUT", "/config", pve.Params{"name": "mine"}); err != nil {
		t.Fatal(err)
	}
	s.until("it has its name again", func() bool { return s.machines() == "web" })
}

// A machine that the Provider's login may not see isn't gone: its object stays until
// somebody knows.
func TestAnObjectStaysWhileItsMachineIsNotVisible(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	path := "/vms/" + s.field("vm/web", ".status.vmid")
	acl := pve.Params{"path": path, "roles": "NoAccess", "users": sim.User}
	if err := s.pve.Call(t.Context(), "PUT", "/access/acl", acl); err != nil {
		t.Fatal(err)
	}
	s.waits("vm/web", "isn't visible with these credentials.* VM.Audit on "+path)
	s.kubectl("delete", "vm", "web", "--wait=false")
	s.until("its deletion is looked at", func() bool {
		return s.field("vm/web", ".metadata.deletionTimestamp") != "" && s.field("vm/web", `.status.conditions[?(@.type=="Ready")].reason`) == "NotVisible"
	})
	if s.machines() != "web" {
		t.Errorf("there is %q", s.machines())
	}
	acl["delete"] = "1"
	if err := s.pve.Call(t.Context(), "PUT", "/access/acl", acl); err != nil {
		t.Fatal(err)
	}
	s.waitFor("--for=delete", "vm/web")
	if m := s.machines(); m != "" {
		t.Errorf("there is still %s", m)
	}
}
