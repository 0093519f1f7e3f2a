package robustness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/imagefile"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/test/kit/steps"
)

// process is one of us: all that it knows is lost when it crashes.
type process struct {
	run    *run
	name   string
	set    *set
	wire   *wire
	engine *engine.Engine
	steps  steps.Running // what it says that it does

	ctx   context.Context
	stop  context.CancelCauseFunc
	ended chan struct{}
	idle  atomic.Bool // there was nothing left to do when it last looked
	over  func()
}

var errStopped = errors.New("stopped by its user")

// newProcess makes a process that doesn't do anything yet.
func (r *run) newProcess(s *set) *process {
	r.born++
	p := &process{run: r, name: fmt.Sprintf("%s#%d", s.name, r.born), set: s, ended: make(chan struct{}), over: func() {}}
	p.ctx, p.stop = context.WithCancelCause(context.Background())
	r.mu.Lock()
	r.all = append(r.all, p)
	r.mu.Unlock()
	p.wire = r.newWire(p.name, true)
	p.wire.crash = p.crash
	creds := pve.Token("root@pam!us", ourSecret)
	if r.h.world.password {
		creds = pve.Password("root@pam", ourPassword)
	}
	// One value for all: who asks for it first at an instant isn't decided.
	jitter := newDice(r.h.seed, p.name).Float64()
	cfg := pve.Config{
		Endpoints: []string{"https://pve1:8006"}, Credentials: creds, RoundTripper: p.wire, Rand: func() float64 { return jitter },
		Logger: slog.New(diary{run: r}), Limiter: r.h.limiter(),
	}
	c, err := pve.New(cfg)
	if err != nil {
		panic(err)
	}
	web := imagefile.New(internet{})
	p.engine = engine.New(observe.New(c).Verifying(r.h.world.keys).Fetching(web), act.New(c).Signing(r.h.world.keys).Fetching(web))
	return p
}

func (r *run) newWire(who string, ours bool) *wire {
	w := &wire{run: r, who: who, ours: ours, seen: map[uint64]asked{}}
	if r.h.world.wire {
		w.next = r.transport
	}
	return w
}

// crash ends the process at once: nothing that it does afterwards gets out.
func (p *process) crash() {
	p.run.trace.say(p.name, "crashes")
	p.wire.cut()
	p.stop(errCrashed)
	p.run.left(p.name)
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	p.run.killed[p.name] = time.Now()
}

// end lets the process finish what it is at.
func (p *process) end() {
	p.stop(errStopped)
	p.run.left(p.name)
	<-p.ended
	p.wire.cut()
}

// left notes that a process does no more from now on.
func (r *run) left(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone == nil {
		r.gone = map[string]time.Time{}
	}
	r.gone[name] = time.Now()
}

// live keep things up to date, over and over, whenever something else is wanted
// and every now and then.
func (p *process) live() {
	defer close(p.ended)
	for p.ctx.Err() == nil {
		version, changed := p.set.version()
		ctx, cancel := context.WithCancel(p.ctx)
		go func() {
			select {
			case <-changed:
				cancel() // as by Ctrl-C
			case <-ctx.Done():
			}
		}()
		p.idle.Store(false)
		p.converge(ctx)
		cancel()
		if now, _ := p.set.version(); now != version || p.ctx.Err() != nil {
			continue
		}
		p.idle.Store(true)
		rest, cancel := context.WithTimeout(p.ctx, restPeriod)
		select {
		case <-rest.Done():
		case <-changed:
		}
		cancel()
	}
}

const restPeriod = 45 * time.Second

// converge keep things up to date once.
func (p *process) converge(ctx context.Context) (engine.Report, error) {
	want := p.set.want(p.run.h.weak)
	rep, err := p.engine.Converge(ctx, want, engine.Options{Patience: patience, Events: p.tell})
	if ctx.Err() == nil {
		p.run.reported(p, rep, err)
	}
	return rep, err
}

const patience = 3 * time.Minute

func (p *process) tell(e engine.Event) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	p.run.Write(line)
	p.steps.Event(e)
	if e.Kind == engine.Started && (e.Action == "Clone" || e.Action == "RemoveDisk") {
		// Many may start at this instant, and who comes first to the limiter, or to read who uses a disk, matters.
		time.Sleep(time.Microsecond)
	}
	if left, ok := strings.CutPrefix(e.Text, "stopped before what Proxmox has left was removed: "); ok {
		p.run.drifts(left)
	}
	if e.Task != "" && (e.Kind == engine.Done || e.Kind == engine.Failed) {
		p.run.follow(p.name, e.Task)
	}
	if e.Kind != engine.Progress {
		p.run.trace.say(p.name, "%s: %s %s %s", e.Owner.Name, e.Kind, e.Step, e.Text)
	}
}

var _ http.RoundTripper = (*wire)(nil)

// ourTimeout is how long we wait for an answer.
const ourTimeout = time.Minute
