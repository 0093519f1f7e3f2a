package cluster

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/proxplane/proxplane/cli/ui"
)

// report shows what machines are at: a line whenever that changes.
type report struct {
	u     *ui.UI
	json  bool
	began time.Time

	mu   sync.Mutex
	last map[string]string // of those that aren't done
}

func newReport(u *ui.UI, json bool) *report {
	return &report{u: u, json: json, began: time.Now(), last: map[string]string{}}
}

// progressLine is a line of -o json.
type progressLine struct {
	Machine string  `json:"machine"`
	State   string  `json:"state"` // doing or done
	What    string  `json:"what"`
	Seconds float64 `json:"seconds"`
}

// Doing says what a machine is at, or waits for.
func (r *report) Doing(machine, what string) { r.tell(machine, what, "doing", "·") }

// Done reports that something has come to its end.
func (r *report) Done(machine, what string) { r.tell(machine, what, "done", "✓") }

func (r *report) tell(machine, what, state, mark string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last[machine] == what || what == "" {
		return
	}
	if r.last[machine] = what; state == "done" {
		delete(r.last, machine)
	}
	if r.json {
		_ = ui.WriteLine(r.u.Out, progressLine{machine, state, what, time.Since(r.began).Seconds()})
		return
	}
	fmt.Fprintf(r.u.Out, "%s %s  %s\n", mark, machine, what)
}

// standing returns the progress of each machine, for an interruption.
func (r *report) standing() (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, machine := range slices.Sorted(maps.Keys(r.last)) {
		lines = append(lines, machine+"  "+r.last[machine])
	}
	return lines
}
