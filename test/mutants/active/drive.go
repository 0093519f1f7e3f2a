package active

import (
	"encoding/json"
	"maps"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Env names the environment variable with the file that says what Drive does.
const Env = "MUTANT_ORDER"

// An Order is what a process of tests is to do: with no mutants, it measures each of Tests.
type Order struct {
	Out     string // the file that gets a line of JSON for each result
	Tests   []string
	Mutants []Mutant
}

// A Mutant is one to be tried, with the tests that come by it.
type Mutant struct {
	N     int
	Tests []string
	Limit time.Duration
}

// A Result is a line of the file: that a test or a mutant was begun, or what became of it.
type Result struct {
	Test  string        `json:",omitempty"`
	N     int           `json:",omitempty"`
	Began bool          `json:",omitempty"`
	Took  time.Duration `json:",omitempty"`
	Meets []int         `json:",omitempty"`
	Pass  bool          `json:",omitempty"`
}

// Exit statuses of a process whose mutant doesn't end.
const (
	ExitTimeout = 97
	maxHeap     = 2 << 30
)

// Drive does what the order says. Without one, it does nothing.
func Drive(t *testing.T, tests map[string]func(*testing.T)) {
	path := os.Getenv(Env)
	if path == "" {
		t.Skip("no order")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var order Order
	if err := json.Unmarshal(text, &order); err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(order.Out, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	d := &driver{tests: tests, out: json.NewEncoder(out)}
	for _, name := range order.Tests {
		if tests[name] != nil {
			d.measure(t, name)
		}
	}
	if len(order.Mutants) > 0 {
		d.all(t, order.Mutants)
	}
}

type driver struct {
	tests map[string]func(*testing.T)
	out   *json.Encoder
}

func (d *driver) say(t *testing.T, r Result) {
	if err := d.out.Encode(r); err != nil {
		t.Fatal(err)
	}
}

func (d *driver) measure(t *testing.T, name string) {
	d.say(t, Result{Test: name, Began: true})
	var met sync.Map
	listed.Store(&met)
	began := time.Now()
	pass := t.Run(name, d.tests[name])
	r := Result{Test: name, Took: time.Since(began), Pass: pass}
	listed.Store(nil)
	met.Range(func(n, _ any) bool { r.Meets = append(r.Meets, n.(int)); return true })
	d.say(t, r)
}

// all tries mutants one after the other, and at last none: whether the tests still pass shows that no mutant has left something in
// this process that later ones were judged by.
func (d *driver) all(t *testing.T, mutants []Mutant) {
	control := Mutant{}
	used := map[string]bool{}
	for _, m := range mutants {
		d.one(t, m)
		control.Limit = max(control.Limit, m.Limit)
		for _, name := range m.Tests {
			used[name] = true
		}
	}
	control.Tests = slices.Sorted(maps.Keys(used))
	d.one(t, control)
}

func (d *driver) one(t *testing.T, m Mutant) {
	d.say(t, Result{N: m.N, Began: true})
	now.Store(int64(m.N))
	stop := watch(m.Limit)
	// Tests that run beside others end before this does.
	pass := t.Run(strconv.Itoa(m.N), func(t *testing.T) {
		for _, name := range m.Tests {
			if run := d.tests[name]; run != nil && !t.Run(name, run) {
				return
			}
		}
	})
	stop()
	now.Store(0)
	d.say(t, Result{N: m.N, Pass: pass})
}

// watch ends the process when a mutant takes too long or too much memory.
func watch(limit time.Duration) (stop func()) {
	done := make(chan struct{})
	go func() {
		heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		end := time.After(limit)
		for {
			select {
			case <-done:
				return
			case <-end:
				os.Exit(ExitTimeout)
			case <-tick.C:
				if metrics.Read(heap); heap[0].Value.Uint64() > maxHeap {
					os.Exit(ExitTimeout)
				}
			}
		}
	}()
	return func() { close(done) }
}
