package main

import (
	"fmt"
	"strings"
	"time"
)

// target is something that has to hold.
type target struct {
	what      string
	have, max float64
	unit      string
}

// targetsOf are the targets for so many machines, as far as there are any.
func targetsOf(r *result, t times, n, places int) []target {
	ratio := float64(r.Wall) / float64(t.bound(n, places))
	at := func(what string) string { return fmt.Sprintf("%d machines: %s", n, what) }
	if places > 0 {
		return []target{
			{at(fmt.Sprintf("time with %d clones a storage", places)), ratio, 1.1, "× the bound"},
			{at("failed tasks"), float64(len(r.failed)), 0, ""},
		}
	}
	list := []target{}
	if most, ok := map[int]float64{1: 1.15, 100: 1.1, 1000: 1.3}[n]; ok {
		list = append(list, target{at("time"), ratio, most, "× the bound"})
	}
	if n == 100 {
		list = append(list,
			target{at("requests each"), float64(r.Requests) / float64(n), 9, ""},
			target{at("writes each"), float64(r.Writes) / float64(n), 4, ""},
			target{at("CPU"), r.CPU.Seconds(), 2, "s"})
	}
	return list
}

// targets of what comes after the machines are there.
func (k *keeping) targets(first time.Duration) []target {
	list := []target{
		{"plan: time", k.plan.Wall.Seconds(), 1, "s"},
		{"plan: requests", float64(k.plan.Requests), 5, ""},
		{"at rest: requests a minute", float64(k.rest.Requests) / k.rest.Wall.Minutes(), 12, ""},
	}
	if first > 0 {
		list = append(list, target{"one more: time", float64(k.more.Wall) / float64(first), 1.1, "× the first one's"})
	}
	return list
}

// verdict says which targets don't hold.
func verdict(list []target) string {
	var missed []string
	for _, t := range list {
		if t.have > t.max {
			missed = append(missed, fmt.Sprintf("- %s: %.2f, want at most %.2f %s", t.what, t.have, t.max, t.unit))
		}
	}
	if len(missed) == 0 {
		return fmt.Sprintf("\nAll %d targets hold.\n", len(list))
	}
	return fmt.Sprintf("\n%d of %d targets hold. These don't:\n\n%s\n", len(list)-len(missed), len(list), strings.Join(missed, "\n"))
}
