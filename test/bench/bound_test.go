package main

import (
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/test/bench/figures"
	"github.com/proxplane/proxplane/test/bench/world"
)

func TestTheBoundIsWhatTheScheduleAllows(t *testing.T) {
	got, err := timesOf(world.YAML)
	if err != nil {
		t.Fatal(err)
	}
	const after = 4500*time.Millisecond + requests*5*time.Millisecond // what follows the clone
	for _, c := range []struct {
		reason    string
		n, places int
		want      time.Duration
	}{
		{"one after the other", 1, 0, 2*time.Second + after},
		{"all clones at once", 1000, 0, 2*time.Second + after},
		{"four on each of five nodes", 20, 4, 2*time.Second + after},
		{"one more needs a second round on its node", 21, 4, 4*time.Second + after},
		{"two hundred on each node, four at a time", 1000, 4, 100*time.Second + after},
	} {
		if have := got.bound(c.n, c.places); have != c.want {
			t.Errorf("%s: %d machines, %d clones at a time: %v, want %v", c.reason, c.n, c.places, have, c.want)
		}
	}
}

func TestMissedTargetsAreNamed(t *testing.T) {
	tm := times{nodes: 5, clone: 2 * time.Second}
	slow := &result{measure: measure{Wall: 3 * time.Second, Requests: 850, Writes: 400, CPU: time.Second}}
	text := figures.Verdict(targetsOf(slow, tm, 100, 0))
	if !strings.Contains(text, "3 of 4 targets hold") || !strings.Contains(text, "100 machines: time: 1.50, want at most 1.10") {
		t.Error(text)
	}
	quick := &result{measure: measure{Wall: 2 * time.Second, Requests: 850, Writes: 400, CPU: time.Second}}
	if text := figures.Verdict(targetsOf(quick, tm, 100, 0)); !strings.Contains(text, "All 4 targets hold") {
		t.Error(text)
	}
}
