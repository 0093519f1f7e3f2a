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
	client, release string
	operations      string
	requests        int
	passed          bool
	took            time.Duration
}

// releases are those of Proxmox that the simulator is.
var releases = []string{"9.2", "8.4"}

// binaries is where the programs of this repository are built.
var binaries string

var (
	resultsMu sync.Mutex
	results   []result
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "proxplane-clients")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binaries = dir
	code := m.Run()
	os.RemoveAll(dir)
	if len(results) > 0 {
		printTable()
	}
	os.Exit(code)
}

func printTable() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nCLIENT\tPROXMOX\tOPERATIONS\tREQUESTS\tRESULT\tTIME")
	for _, r := range results {
		verdict := "FAILED"
		if r.passed {
			verdict = "passed"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", r.client, r.release, r.operations, r.requests, verdict, r.took.Round(time.Second))
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
			client: client, release: s.release, operations: *operations, requests: s.requests(t),
			passed: !t.Failed(), took: time.Since(began),
		})
	})
}

// say prints progress at once, also where test output is held back.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
