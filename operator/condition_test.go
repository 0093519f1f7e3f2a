package operator

import (
	"testing"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// Each aspect of a machine says something of its own: the sentence that an object is judged
// by is in one of them at most, and what isn't known isn't said to be so.
func TestAspectsDontRepeatOneSentence(t *testing.T) {
	for _, c := range []struct {
		verdict status.Verdict
		unknown int
	}{
		{status.Verdict{State: model.StateReady, Reason: model.ReasonUpToDate, Message: "up to date"}, 0},
		{status.Verdict{State: model.StateBlocked, Reason: model.ReasonInvalid, Message: "spec.cpus: is missing"}, 3},
		{status.Verdict{State: model.StateBlocked, Reason: model.ReasonElsewhere, Message: "another Kubernetes has it"}, 3},
		{status.Verdict{State: model.StateBlocked, Reason: model.ReasonProvider, Message: "there is no Secret"}, 3},
		{status.Verdict{State: model.StateBlocked, Reason: model.WaitAway, Message: "no route to host"}, 3},
		{status.Verdict{State: model.StateBlocked, Reason: model.WaitOther, Message: "this is another Proxmox"}, 3},
		{status.Verdict{State: model.StateBlocked, Reason: model.WaitRestart, Message: "runs with 2 CPUs"}, 0},
		{status.Verdict{State: model.StateBlocked, Reason: model.WaitPlace, Message: "no node has room"}, 0},
		{status.Verdict{State: model.StateBlocked, Reason: model.WaitForeign, Message: "somebody has its VMID"}, 0},
		{status.Verdict{State: model.StateChanging, Reason: model.ReasonChanging, Message: "start VM 104"}, 0},
	} {
		said, unknown := 0, 0
		for _, a := range aspects(c.verdict) {
			if a.Message == c.verdict.Message {
				said++
			}
			if a.Status == "Unknown" {
				unknown++
			}
			if a.Reason == "" || a.Message == "" {
				t.Errorf("%s: %+v says nothing", c.verdict.Reason, a)
			}
		}
		machine := &api.VirtualMachine{}
		settle(machine, c.verdict, 1)
		repeats := 0
		for _, c2 := range machine.Status.Conditions {
			if c2.Message == c.verdict.Message {
				repeats++
			}
		}
		if repeats > 2 {
			t.Errorf("%s: %d conditions have one sentence: %+v", c.verdict.Reason, repeats, machine.Status.Conditions)
		}
		if said > 1 || unknown != c.unknown {
			t.Errorf("%s: %d aspects repeat the sentence, and %d are unknown, want %d: %+v", c.verdict.Reason, said, unknown, c.unknown, aspects(c.verdict))
		}
	}
}
