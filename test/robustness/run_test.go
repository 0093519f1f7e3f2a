package robustness

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// run is a history being lived through.
type run struct {
	h         *history
	sim       *pvesim.Sim
	handler   http.Handler
	transport http.RoundTripper // where the world asks for connections
	trace     *trace
	watch     *watch
	others    *others
	census    *census
	sets      []*set
	neighbour *neighbour
	kube      *kube         // of histories about the operator
	born      int           // processes so far
	limit     int           // of requests
	done      chan struct{} // closed at the end
	troubles  sync.WaitGroup
	flights   sync.WaitGroup // requests that the simulator works on
	idle      chan func()    // goroutines that have worked on requests wait there for the next

	mu     sync.Mutex
	procs  []*process
	ending bool
	aside  sync.WaitGroup       // processes
	over   chan struct{}        // closed when the troubles are over
	deaf   int                  // reasons for refusing connections
	out    int                  // reasons for refusing our credentials
	hits   map[string]int       // what requests met with
	ends   map[string][]sight   // tasks whose end we have seen
	gone   map[string]time.Time // when processes ended
	killed map[string]time.Time // when processes crashed
	all    []*process           // that were ever started
	proofs map[int]string       // descriptions that proved to be ours; see weakness
	broken []string             // what must never happen, and did
	rogue  map[string]*wire     // that misdeeds are done with
	events string               // what had happened when the first of it did

	busiest int // most requests of a process within a minute

	excuses map[model.Owner]bool // what can't be up to date, for a good reason
	unheard map[model.Owner]bool // of that, machines whose agent says nothing
	adrift  map[string]bool      // volumes that Proxmox left, and that a process which was stopped then has named
	beside  map[string]bool      // disks that are younger than the snapshot that their machine went back to
	futile  bool                 // something is tried again and again, rightly
}

// result is what came of a history.
type result struct {
	broken   []string
	requests string // around the first failure
	trace    *trace
	census   *census
}

// liveThrough must be called within a bubble of virtual time.
func liveThrough(h *history, shown *atomic.Pointer[trace]) result {
	r := &run{
		h: h, trace: &trace{start: time.Now()}, over: make(chan struct{}), excuses: map[model.Owner]bool{}, unheard: map[model.Owner]bool{}, adrift: map[string]bool{}, beside: map[string]bool{},
		census: newCensus(), limit: mostRequests, done: make(chan struct{}), idle: make(chan func()), hits: map[string]int{}, ends: map[string][]sight{}, killed: map[string]time.Time{}, proofs: map[int]string{},
	}
	shown.Store(r.trace)
	defer close(r.done)
	defer r.endless()()
	sim, err := pvesim.New(&h.world.World, pvesim.WithSeed(h.seed), pvesim.WithClock(h.world.clock), pvesim.WithInternet(pvesim.BootableImages{}))
	if err != nil {
		panic(err)
	}
	r.sim, r.handler = sim, sim.Handler()
	defer sim.Close()
	if h.world.wire {
		tr, closeTransport := sim.Transport()
		tr.IdleConnTimeout = 4 * time.Second
		r.transport = tr
		defer closeTransport()
	}
	r.watch = newWatch(r)
	r.others = newOthers(r)
	if h.neighbour {
		r.neighbour = newNeighbour(r)
	}
	if h.operator {
		r.kube = newKube(r)
		r.kube.start(ourCluster)
	}
	for i := range h.world.sets {
		r.sets = append(r.sets, newSet(setNames[i], h.world))
		r.start(r.sets[i])
	}
	for _, e := range h.events {
		time.Sleep(e.after)
		if r.isBroken() {
			break
		}
		r.watch.look() // by what is wanted until now
		r.trace.say("", "— %s", e.what)
		r.census.count(e.kind, 1, 0)
		e.do(r)
	}
	switch {
	case r.isBroken():
	case h.operator:
		r.kube.finish()
	default:
		r.finish()
	}
	r.calm()
	r.stopAll()
	r.flights.Wait()
	r.noSecretAsked()
	r.notTooMuch()
	r.notInVain()
	r.census.read(r.trace)
	r.census.busiest = r.busiest
	return result{broken: r.broken, requests: r.events, trace: r.trace, census: r.census}
}

// fail notes that something happened that must never happen.
func (r *run) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.trace.say("", "BROKEN: %s", text)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.broken) == 0 {
		r.events = r.trace.around(60)
	}
	r.broken = append(r.broken, text)
}

func (r *run) isBroken() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.broken) > 0
}

// most remembers the most requests within a minute.
func (r *run) most(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busiest = max(r.busiest, n)
}

// start starts a process that is started again whenever it crashes.
func (r *run) start(s *set) {
	p := r.newProcess(s)
	r.mu.Lock()
	if r.ending {
		r.mu.Unlock()
		return
	}
	r.procs = append(r.procs, p)
	r.aside.Add(1)
	r.mu.Unlock()
	go p.live()
	go func() {
		defer r.aside.Done()
		<-p.ended
		r.mu.Lock()
		ending := r.ending
		for i, q := range r.procs {
			if q == p {
				r.procs = append(r.procs[:i:i], r.procs[i+1:]...)
				break
			}
		}
		r.mu.Unlock()
		if !ending {
			time.Sleep(newDice(r.h.seed, "again "+p.name).between(0, 20*time.Second))
			r.start(s)
		}
	}()
}

// stopAll ends all processes, and waits until nothing goes on beside them.
func (r *run) stopAll() {
	r.mu.Lock()
	r.ending = true
	procs := r.procs
	r.mu.Unlock()
	for _, p := range procs {
		p.stop(errStopped)
	}
	if r.kube != nil {
		r.kube.stopAll()
		defer time.Sleep(time.Minute) // what the libraries have begun ends a moment later
	}
	r.aside.Wait()
}

// lasting is a context for what ends by itself.
func (r *run) lasting() context.Context { return context.Background() }

// living are the processes now.
func (r *run) living() []*process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*process(nil), r.procs...)
}

// settle waits until all processes have nothing to do, or for some minutes.
func (r *run) settle() {
	for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); {
		time.Sleep(time.Second)
		idle := true
		procs := r.living()
		for _, p := range procs {
			idle = idle && p.idle.Load()
		}
		if idle && len(procs) > 0 || r.isBroken() {
			return
		}
	}
}

// crash lets a process crash at one of its next requests.
func (r *run) crash(i, requests int, at moment) {
	procs := r.living()
	if len(procs) == 0 {
		return
	}
	w := procs[i%len(procs)].wire
	w.mu.Lock()
	defer w.mu.Unlock()
	w.crashIn, w.crashAt = requests, at
}

// company runs another process for a while.
func (r *run) company(s *set, d time.Duration) {
	p := r.newProcess(s)
	go p.live()
	r.later(d, func() {
		p.end()
		if r.trace.count(func(e *entry) bool { return e.who == p.name && e.write() }) > 0 {
			r.tells(runsTwice)
		}
	})
}

// calm ends all troubles.
func (r *run) calm() {
	select {
	case <-r.over:
	default:
		close(r.over)
	}
	r.troubles.Wait()
	r.sim.RemoveFault(0)
	r.comeBack()
}

// reported looks at what a process says about how far it has come.
func (r *run) reported(p *process, rep engine.Report, err error) {
	if err != nil {
		r.trace.say(p.name, "gave up: %v", err)
		fmt.Fprintln(r, err)
		return
	}
	for _, o := range rep.Objects {
		fmt.Fprintf(r, "%s %s %s\n", o.Owner.Key, o.State, o.Text)
		if o.State != engine.StateReady && o.State != engine.StateGone {
			r.trace.say(p.name, "%s is %s: %s", o.Owner.Key, o.State, o.Text)
			r.reasoned(o)
		}
	}
}

// reasoned checks that an object that isn't up to date says why, in one line, and
// since when.
func (r *run) reasoned(o engine.Outcome) {
	switch {
	case strings.TrimSpace(o.Text) == "", o.Text == "not done yet", strings.Contains(o.Text, "\n"):
		r.fail("%s ended as %s without saying why in one line (%q)", o.Owner.Key, o.State, o.Text)
	case o.State == engine.StateWaiting && o.Since.IsZero():
		r.fail("%s doesn't say since when it waits (%q)", o.Owner.Key, o.Text)
	}
}
