package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/proxplane/proxplane/test/bench/figures"
	"github.com/proxplane/proxplane/test/bench/world"
)

// tableHead begins the table of the runs with so many clones at a time.
func tableHead(places int) string {
	title := "Any number of clones at a time"
	if places > 0 {
		title = fmt.Sprintf("%d clones at a time on each storage, others wait for its lock and time out after 10 s", places)
	}
	return "\n" + title + "\n\n" +
		"| machines | wall time | bound | ratio | requests a machine | of these writes | failed tasks | peak memory | CPU |\n" +
		"|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
}

func (r *result) row(t world.Times, n, places int) string {
	bound := t.Bound(n, places)
	row := fmt.Sprintf("| %d | %s | %s | %.2f | %.1f | %.1f | %d | %s | %s |\n",
		n, figures.Seconds(r.Wall), figures.Seconds(bound), float64(r.Wall)/float64(bound),
		float64(r.Requests)/float64(n), float64(r.Writes)/float64(n), len(r.failed), figures.Mebibytes(r.Memory), figures.Seconds(r.CPU))
	return row + shown(r.failed)
}

// shown are the first few of the tasks that failed, below the row.
func shown(failed []string) string {
	const few = 3
	if len(failed) == 0 {
		return ""
	}
	return "\n<!-- " + strings.Join(failed[:min(few, len(failed))], "; ") + " -->\n"
}

// table is about machines that are there already; first is how long a single
// one took when there was none.
func (k *keeping) table(first time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nWith %d machines that are up to date\n\n| what | time | requests | CPU | peak memory |\n|---|---:|---:|---:|---:|\n", k.n)
	line := func(what string, m measure) {
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s |\n", what, figures.Seconds(m.Wall), m.Requests, figures.Seconds(m.CPU), figures.Mebibytes(m.Memory))
	}
	line("`proxplane plan` in a new process", k.plan)
	line("`proxplane plan --quick` in a new process", k.quick)
	line("kept at rest", k.rest)
	more := "one more"
	if first > 0 {
		more += fmt.Sprintf(" (%.2f × the first one's time)", float64(k.more.Wall)/float64(first))
	}
	line(more, k.more)
	return b.String()
}
