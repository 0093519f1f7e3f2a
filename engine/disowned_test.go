package engine_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// The step that fails when somebody takes a guest over in that moment isn't what the object
// waits for once its config was read.
func TestAGuestThatIsTakenOverIsToldRatherThanTheStepThatFailed(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		l.mustConverge(want)
		var last atomic.Pointer[engine.Outcome]
		s := l.engine().Serve(t.Context(), engine.Options{Changed: func(o engine.Outcome) {
			if strings.HasPrefix(o.Text, "destroy VM") && o.State == engine.StateChanging {
				l.vm("web", func(_ *pvesim.State, vm *pvesim.VM) { vm.Conf["description"] = "ours now" })
			}
			if o.Owner.Name == "web" {
				last.Store(&o)
			}
		}})
		want.Delete()
		s.Want(want, nil)
		time.Sleep(10 * time.Minute)
		if last := last.Load(); last.Reason != model.WaitForeign || !strings.Contains(last.Text, "somebody has taken the line that proves it out of its notes") {
			t.Errorf("%s %s: %s", last.State, last.Reason, last.Text)
		}
	})
}
