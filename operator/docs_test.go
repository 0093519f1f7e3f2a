package operator

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// Scripts go by reasons, so there is a list of all of them.
func TestEveryReasonIsExplained(t *testing.T) {
	text, err := os.ReadFile("../docs/operator.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(string(text), -1) {
		told = append(told, m[1])
	}
	all := []string{
		ReasonInvalid, ReasonUnused, ReasonConnected, ReasonConnecting, ReasonRejected,
		engine.WaitAway, engine.WaitLogin,
		status.ReasonAsWanted, status.ReasonGone, status.ReasonChanging, status.ReasonUnread,
		plan.WaitTask, plan.WaitLock, plan.WaitOwner, plan.WaitSource, plan.WaitPlace, plan.WaitVMID, plan.WaitForeign, plan.WaitNode,
		plan.WaitAgent, plan.WaitRestart, plan.WaitRefused, plan.WaitFailed, plan.WaitDependents, plan.WaitPending,
	}
	slices.Sort(told)
	slices.Sort(all)
	if !slices.Equal(told, all) {
		t.Errorf("docs/operator.md explains\n%v\nbut there are\n%v", told, all)
	}
}
