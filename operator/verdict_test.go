package operator

import (
	"testing"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// People and alerts go by these, so they stay while nothing is new.
func TestAVerdictStaysWhileWhatFailsIsTriedAgain(t *testing.T) {
	fails := &model.Failure{What: "start VM 104", Text: "the moon is full", Hard: true}
	for _, c := range []struct {
		outcome engine.Outcome
		reason  string
		because string
	}{
		{engine.Outcome{State: engine.StateFailed, Text: "start VM 104 failed: the moon is full", Failure: fails}, plan.WaitFailed, "it has failed"},
		{engine.Outcome{State: engine.StateChanging, Text: "start VM 104", Failure: fails}, plan.WaitFailed, "the same is tried again"},
		{engine.Outcome{State: engine.StateChanging, Text: "configure VM 104", Failure: fails}, status.ReasonChanging, "something else is done"},
		{engine.Outcome{State: engine.StateChanging, Text: "start VM 104"}, status.ReasonChanging, "nothing has failed"},
	} {
		got := judge(c.outcome)
		if got.Reason != c.reason {
			t.Errorf("the reason is %s, want %s: %s", got.Reason, c.reason, c.because)
		}
		if c.reason == plan.WaitFailed && got.Message != "start VM 104 failed: the moon is full" {
			t.Errorf("it says %q: %s", got.Message, c.because)
		}
	}
}
