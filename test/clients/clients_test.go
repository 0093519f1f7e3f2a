package clients

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// result is a line of the table at the end.
type result struct {
	client, operations string
	requests           int
	passed             bool
	took               time.Duration
}

var (
	resultsMu sync.Mutex
	results   []result
)

func TestMain(m *testing.M) {
	code := m.Run()
	if len(results) > 0 {
		printTable()
	}
	os.Exit(code)
}

func printTable() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nCLIENT\tOPERATIONS\tREQUESTS\tRESULT\tTIME")
	for _, r := range results {
		verdict := "FAILED"
		if r.passed {
			verdict = "passed"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", r.client, r.operations, r.requests, verdict, r.took.Round(time.Second))
	}
	w.Flush()
	fmt.Println()
}

// report adds a line to the table when the test ends, however it ends.
func report(t *testing.T, s *sim, client string, operations *string) {
	began := time.Now()
	t.Cleanup(func() {
		resultsMu.Lock()
		defer resultsMu.Unlock()
		results = append(results, result{
			client: client, operations: *operations, requests: s.requests(t),
			passed: !t.Failed(), took: time.Since(began),
		})
	})
}

// say prints progress at once, also where test output is held back.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
