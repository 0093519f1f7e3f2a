package main

import (
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/test/bench/figures"
	"github.com/proxplane/proxplane/test/bench/world"
)

func TestMissedTargetsAreNamed(t *testing.T) {
	tm, err := world.TimesOf([]byte("nodes: [{}, {}, {}, {}, {}]\ntiming: {clone: 2s}"))
	if err != nil {
		t.Fatal(err)
	}
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
