package operator

import (
	"testing"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// Of many machines that wait for their turn each would say anew for which one, whenever one
// has had its turn.
func TestWhatEndsByItselfIsNoEvent(t *testing.T) {
	s := &provider{making: map[model.Owner]bool{}}
	for reason, matters := range map[model.Reason]bool{
		model.WaitRollout: false, model.WaitTask: false, model.WaitPlace: true, model.WaitRefused: true, model.WaitDisk: true,
	} {
		if got := s.matters(engine.Event{Kind: engine.Waiting, Reason: reason}); got != matters {
			t.Errorf("%s is an event: %t", reason, got)
		}
	}
}

// A restart that has to be allowed is told in the same words by the event and by the status.
func TestARefusalIsToldAsTheStatusSaysIt(t *testing.T) {
	refused := []plan.Refusal{{
		What: "restart VM 100", Why: "memory is applied at a restart only", Effect: plan.Restart, Allow: model.AllowRestart,
		Pending: model.Pending{Memory: 4 << 30, NextMemory: 8 << 30},
	}}
	want := status.Kubernetes.Outcome(model.Outcome{State: model.StateRefused, Refused: refused})
	reason, text := inWords(engine.Event{Kind: engine.Waiting, Reason: model.WaitRefused, Text: "restart VM 100 isn't done", Refused: refused})
	if reason != want.Reason || text != want.Message || reason != model.WaitRestart {
		t.Errorf("the event says %s: %s\nthe status   %s: %s", reason, text, want.Reason, want.Message)
	}
}
