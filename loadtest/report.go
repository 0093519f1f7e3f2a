package loadtest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/status"
)

// Report is the result of a load.
type Report struct {
	Endpoint  string    `json:"endpoint"`
	Version   string    `json:"version"` // of Proxmox VE
	Simulator bool      `json:"simulator"`
	Nodes     int       `json:"nodes"`
	Started   time.Time `json:"started"`
	Machines  int       `json:"machines"`
	Parallel  int       `json:"parallel"`
	Command   string    `json:"command"`
	Ended     string    `json:"ended,omitempty"` // why it ended early
	Removed   int       `json:"removed"`         // machines, at the end
	Earlier   int       `json:"earlier"`         // machines that an earlier run had left
	Left      string    `json:"left,omitempty"`  // what couldn't be removed
	Figures   []Figures `json:"figures"`
}

// OK reports whether everything was done, and nothing is left.
func (r *Report) OK() bool {
	return r.Ended == "" && r.Left == "" && !slices.ContainsFunc(r.Figures, func(f Figures) bool { return f.Failed > 0 })
}

// order is that of the tables: as people look for it, not as it was done.
var order = []string{Create, PowerOn, PowerOff, Describe, Reconfigure, Snapshot, Clone}

// Sorted returns the figures in the order of the tables.
func (r *Report) Sorted() []Figures {
	return slices.SortedStableFunc(slices.Values(r.Figures), func(a, b Figures) int {
		return cmp.Compare(slices.Index(order, a.Operation), slices.Index(order, b.Operation))
	})
}

// Subject describes in a line what was measured.
func (r *Report) Subject() string {
	what := "Proxmox VE " + r.Version
	if r.Simulator {
		what = "simulated " + what
	}
	return fmt.Sprintf("%s at %s, %s; %s, %d at once", what, r.Endpoint, status.Count(r.Nodes, "node"), status.Count(r.Machines, "machine"), r.Parallel)
}

// Problem is an error and how often it happened.
type Problem struct {
	Operation, Text string
	Times           int
}

// Problems returns the errors, equal ones counted together.
func (r *Report) Problems() []Problem {
	var list []Problem
	for _, f := range r.Sorted() {
		for _, s := range f.Samples {
			if s.Error == "" {
				continue
			}
			i := slices.IndexFunc(list, func(p Problem) bool { return p.Operation == f.Operation && p.Text == s.Error })
			if i < 0 {
				list = append(list, Problem{Operation: f.Operation, Text: s.Error})
				i = len(list) - 1
			}
			list[i].Times++
		}
	}
	return list
}

// maxProblems is how many errors a report shows.
const maxProblems = 10

// Text formats the report for people.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.Subject())
	b.WriteString(r.table().Text(status.Layout{Heading: true}))
	problems := r.Problems()
	if len(problems) > 0 {
		b.WriteString("\n")
	}
	for i, p := range problems {
		if i == maxProblems {
			fmt.Fprintf(&b, "✗ and %d more\n", len(problems)-i)
			break
		}
		fmt.Fprintf(&b, "✗ %s, %s: %s\n", p.Operation, times(p.Times), p.Text)
	}
	b.WriteString("\n" + r.End() + "\n")
	return b.String()
}

func (r *Report) table() status.Table {
	right := func(name string) status.Column { return status.Column{Name: name, Right: true} }
	t := status.Table{Columns: []status.Column{
		{Name: "OPERATION"}, right("DONE"), right("ERRORS"), right("P50"), right("P95"), right("P99"), right("A MINUTE"), right("REQUESTS EACH"), right("WRITES EACH"),
	}}
	for _, f := range r.Sorted() {
		t.Rows = append(t.Rows, []string{
			f.Operation, strconv.Itoa(f.Done), strconv.Itoa(f.Failed), Short(f.P50), Short(f.P95), Short(f.P99),
			fmt.Sprintf("%.0f", f.PerMinute), fmt.Sprintf("%.1f", f.Requests), fmt.Sprintf("%.1f", f.Writes),
		})
	}
	return t
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// End returns how the load test ended, and what is left of it.
func (r *Report) End() string {
	var parts []string
	if r.Ended != "" {
		parts = append(parts, "It ended early: "+r.Ended+".")
	}
	if r.Left != "" {
		parts = append(parts, "Not all could be removed: "+r.Left+". Running it again removes the rest.")
	} else {
		parts = append(parts, removed(r.Removed))
	}
	return strings.Join(parts, " ")
}

func removed(n int) string {
	switch n {
	case 0:
		return "There was nothing to remove."
	case 1:
		return "The one machine was removed again."
	}
	return fmt.Sprintf("All %d machines were removed again.", n)
}

// Short returns a duration as tables show it.
func Short(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
	case d < 100*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
