package engine

import (
	"context"
	"sync"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Turn is what one turn has done.
type Turn struct {
	Plan  plan.Plan // what was to be done
	Tasks []string  // that were started
	Done  int       // steps that were done or begun
}

// Step is one turn: it looks as deep as it must, does all that can be done right
// away, and returns without waiting for any task. Lists that are younger than age
// aren't asked for again. What failed shows in the next turn's plan; the error
// tells that it couldn't even look.
func (e *Engine) Step(ctx context.Context, want model.Desired, age time.Duration, events func(Event)) (Turn, error) {
	if events == nil {
		events = func(Event) {}
	}
	if err := e.observer.Refresh(ctx, age); err != nil {
		return Turn{}, err
	}
	want = e.seal(want)
	t := &stepper{e: e, events: events, vms: map[model.Key]model.VM{}}
	for _, v := range want.VMs {
		t.vms[v.Owner.Key] = v
	}
	var err error
	if t.Plan, err = e.planDeep(ctx, want, nil, func(plan.Object) plan.Look { return plan.Look{} }); err != nil {
		return t.Turn, err
	}
	return t.Turn, t.act(ctx)
}

// stepper does the steps of one turn.
type stepper struct {
	Turn
	e      *Engine
	events func(Event)
	vms    map[model.Key]model.VM

	mu    sync.Mutex
	fatal error
}

// act starts all that can be started. No guest is touched by two objects.
func (t *stepper) act(ctx context.Context) error {
	var all sync.WaitGroup
	taken := map[int]model.Key{}
	for _, o := range t.Plan.Objects {
		if o.Wait != nil && o.Wait.Reason == plan.WaitAgent {
			o.Look.Agents = []int{o.VMID}
		}
		for _, s := range o.Next() {
			vmid := s.Action.Guest()
			if by, ok := taken[vmid]; ok && vmid != 0 && by != o.Owner.Key {
				continue
			}
			taken[vmid] = o.Owner.Key
			t.Done++
			all.Go(func() { t.do(ctx, o, s) })
		}
		for _, vmid := range o.Look.Agents {
			all.Go(func() { t.ask(ctx, o, vmid) })
		}
	}
	all.Wait()
	if t.fatal == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.fatal
}

func (t *stepper) do(ctx context.Context, o plan.Object, s plan.Step) {
	var known act.Known
	t.e.observer.View(func(have *model.Observed) { known = act.Know(s.Action, have) })
	t.tell(o, stepEvent(Started, s))
	res, err := t.e.actor.Do(ctx, s.Action, known)
	switch {
	case err != nil:
		t.failed(o, s.What, err)
		t.e.doubt(s.Action)
	case res.Task != "":
		t.e.observer.TaskStarted(res.Task)
		// When it has ended, what it has done is to be looked at.
		t.e.doubt(s.Action)
		t.mu.Lock()
		t.Tasks = append(t.Tasks, res.Task)
		t.mu.Unlock()
		t.tell(o, Event{Kind: Progress, Step: s.What, Task: res.Task})
	default:
		t.e.succeed(t.e.memory.alone, o.Owner.Key, s.What)
		t.e.note(s.Action, t.vms[o.Owner.Key].WaitAddress)
		t.tell(o, stepEvent(Done, s))
	}
}

// ask asks a guest's agent once, if it is time.
func (t *stepper) ask(ctx context.Context, o plan.Object, vmid int) {
	if err := t.e.observer.AskOnce(ctx, vmid); err != nil {
		t.failed(o, "reading the addresses", err)
	}
}

func (t *stepper) failed(o plan.Object, what string, err error) {
	f := act.Judge(err)
	if f.Class == act.Stopped || f.Class == act.Fatal {
		t.mu.Lock()
		t.fatal = err
		t.mu.Unlock()
		return
	}
	t.e.mu.Lock()
	t.e.memory.fail(t.e.memory.alone, o.Owner.Key, what, f, true, time.Now())
	t.e.mu.Unlock()
	t.tell(o, Event{Kind: Failed, Step: what, Text: f.Text, Hint: f.Hint})
}

func (t *stepper) tell(o plan.Object, e Event) {
	e.Time, e.Owner, e.VMID, e.Node = time.Now(), o.Owner, o.VMID, o.Node
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events(e)
}
