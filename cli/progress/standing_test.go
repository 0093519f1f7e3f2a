package progress

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

func TestAnInterruptionNamesFewObjectsAndCountsMany(t *testing.T) {
	owner := func(i int) model.Owner {
		return model.Owner{Key: model.Key{Kind: "VirtualMachine", Name: fmt.Sprintf("web-%d", i)}}
	}
	stand := func(n int) string {
		var p plan.Plan
		for i := range n {
			p.Objects = append(p.Objects, plan.Object{Owner: owner(i), Steps: []plan.Step{{What: "start it"}}})
		}
		s := NewStanding(p)
		s.Event(engine.Event{Owner: owner(0), Kind: engine.Started, Step: "start it"})
		s.Event(engine.Event{Owner: owner(0), Kind: engine.Done, Step: "start it"})
		s.Event(engine.Event{Owner: owner(0), Kind: engine.Ready})
		s.Event(engine.Event{Owner: owner(1), Kind: engine.Started, Step: "start it"})
		s.Event(engine.Event{Owner: owner(1), Kind: engine.Progress, Step: "start it", Task: "UPID:pve1:1"})
		s.Event(engine.Event{Owner: owner(2), Kind: engine.Started, Step: "start it"})
		s.Event(engine.Event{Owner: owner(2), Kind: engine.Failed, Step: "start it", Text: "no memory"})
		s.Event(engine.Event{Owner: owner(3), Kind: engine.Started, Step: "start it"})
		s.Event(engine.Event{Owner: model.Owner{Key: model.Key{Kind: "VMImage", Name: "ready-before"}}, Kind: engine.Ready})
		return strings.Join(s.Lines(), "\n")
	}
	few := `vm/web-0  up to date
vm/web-1  start it: goes on in Proxmox
vm/web-2  start it failed: no memory
vm/web-3  start it: asked for, and may be done
vm/web-4  not begun`
	if got := stand(5); got != few {
		t.Errorf("of five:\n%s\nwant\n%s", got, few)
	}
	many := `vm/web-1  start it: goes on in Proxmox
vm/web-2  start it failed: no memory
vm/web-3  start it: asked for, and may be done
and 1 done, 996 not begun`
	if got := stand(1000); got != many {
		t.Errorf("of a thousand:\n%s\nwant\n%s", got, many)
	}
}

// Power, snapshots and the like are done side by side, too.
func TestAnInterruptionOfWorkByHandSaysHowFarEachMachineHasCome(t *testing.T) {
	var said strings.Builder
	u := ui.New(strings.NewReader(""), &said, &said)
	ctx, interrupt := context.WithCancel(t.Context())
	var first sync.WaitGroup
	first.Add(2)
	after := func(err error) func(context.Context) error {
		return func(context.Context) error { defer first.Done(); return err }
	}
	err := Work(ctx, u,
		Job{Name: "web-1", What: "start VM 101", Done: "running", Do: after(nil)},
		Job{Name: "web-2", What: "start VM 102", Done: "running", Do: after(errors.New("no memory"))},
		Job{Name: "web-3", What: "start VM 103", Done: "running", Do: func(ctx context.Context) error {
			first.Wait()
			time.AfterFunc(50*time.Millisecond, interrupt)
			<-ctx.Done()
			return ctx.Err()
		}},
	)
	var exit *ui.ExitError
	if !errors.As(err, &exit) || exit.Code != ui.ExitInterrupted {
		t.Errorf("it ended with %v", err)
	}
	for _, line := range []string{"vm/web-1  running", "vm/web-2  start VM 102 failed: no memory", "vm/web-3  start VM 103: asked for, and may be done"} {
		if !strings.Contains(said.String(), line) {
			t.Errorf("%q isn't said:\n%s", line, said.String())
		}
	}
}
