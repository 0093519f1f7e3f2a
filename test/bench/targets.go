package main

import (
	"fmt"
	"time"

	"github.com/proxplane/proxplane/test/bench/figures"
	"github.com/proxplane/proxplane/test/bench/world"
)

// targetsOf are the targets for so many machines, as far as there are any.
func targetsOf(r *result, t world.Times, n, places int) []figures.Target {
	ratio := float64(r.Wall) / float64(t.Bound(n, places))
	at := func(what string) string { return fmt.Sprintf("%d machines: %s", n, what) }
	if places > 0 {
		return []figures.Target{
			figures.AtMost(at(fmt.Sprintf("time with %d clones a storage", places)), ratio, 1.1, "× the bound"),
			figures.AtMost(at("failed tasks"), float64(len(r.failed)), 0, ""),
		}
	}
	list := []figures.Target{}
	if most, ok := map[int]float64{1: 1.15, 100: 1.1, 1000: 1.3}[n]; ok {
		list = append(list, figures.AtMost(at("time"), ratio, most, "× the bound"))
	}
	if n == 100 {
		list = append(list,
			figures.AtMost(at("requests each"), float64(r.Requests)/float64(n), 9, ""),
			figures.AtMost(at("writes each"), float64(r.Writes)/float64(n), 4, ""),
			figures.AtMost(at("CPU"), r.CPU.Seconds(), 2, "s"))
	}
	return list
}

// targets of what comes after the machines are there.
func (k *keeping) targets(first time.Duration) []figures.Target {
	list := []figures.Target{
		figures.AtMost("plan: time", k.plan.Wall.Seconds(), 3, "s"),
		figures.AtMost("plan: requests", float64(k.plan.Requests)/float64(k.n), 1.1, "a machine"),
		figures.AtMost("plan --quick: time", k.quick.Wall.Seconds(), 1, "s"),
		figures.AtMost("plan --quick: requests", float64(k.quick.Requests), 5, ""),
		figures.AtMost("at rest: requests a minute", float64(k.rest.Requests)/k.rest.Wall.Minutes(), 60, ""),
	}
	if first > 0 {
		list = append(list, figures.AtMost("one more: time", float64(k.more.Wall)/float64(first), 1.1, "× the first one's"))
	}
	return list
}
