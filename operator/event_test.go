package operator

import (
	"testing"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
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
