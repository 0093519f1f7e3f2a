package main

import (
	"fmt"

	"github.com/proxplane/proxplane/test/bench/figures"
)

// apart is what it costs to have each machine put by a caller of its own, beside what it costs to
// apply them together.
type apart struct {
	n               int
	together, alone *result
}

func (a *apart) times() float64 { return float64(a.alone.Wall) / float64(a.together.Wall) }

func (a *apart) requests() float64 {
	return float64(a.alone.Requests) / float64(a.together.Requests)
}

func (a *apart) table() string {
	row := func(what string, r *result) string {
		return fmt.Sprintf("| %s | %.1f s | %d | %d | %d |\n", what, r.Wall.Seconds(), r.Requests, r.Writes, len(r.failed))
	}
	return fmt.Sprintf("\n| %d machines | time | requests | writes | failed tasks |\n|---|---:|---:|---:|---:|\n", a.n) +
		row("applied together", a.together) + row(fmt.Sprintf("put by %d callers at once", a.n), a.alone) +
		fmt.Sprintf("| ratio | %.2f | %.2f | | |\n", a.times(), a.requests())
}

// targets are ratios within one run, so that they don't depend on the machine.
func (a *apart) targets() []figures.Target {
	at := func(what string) string { return fmt.Sprintf("%d machines put by as many callers: %s", a.n, what) }
	return []figures.Target{
		figures.AtMost(at("time"), a.times(), 1.05, "× that of one apply"),
		figures.AtMost(at("requests"), a.requests(), 1.05, "× those of one apply"),
		figures.AtMost(at("failed tasks"), float64(len(a.alone.failed)), 0, ""),
	}
}
