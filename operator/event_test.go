package operator

import (
	"testing"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Of many machines that wait for their turn each would say anew for which one, whenever one
// has had its turn.
func TestWhatEndsByItselfIsNoEvent(t *testing.T) {
	s := &provider{making: map[model.Owner]bool{}}
	for reason, matters := range map[string]bool{
		plan.WaitRollout: false, plan.WaitTask: false, plan.WaitPlace: true, plan.WaitRefused: true, plan.WaitDisk: true,
	} {
		if got := s.matters(engine.Event{Kind: engine.Waiting, Action: reason}); got != matters {
			t.Errorf("%s is an event: %t", reason, got)
		}
	}
}
