package world

import (
	"testing"
	"time"
)

func TestTheBoundIsWhatTheScheduleAllows(t *testing.T) {
	got, err := TimesOf(YAML)
	if err != nil {
		t.Fatal(err)
	}
	const after = 4500*time.Millisecond + Requests*5*time.Millisecond // what follows the clone
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
		if have := got.Bound(c.n, c.places); have != c.want {
			t.Errorf("%s: %d machines, %d clones at a time: %v, want %v", c.reason, c.n, c.places, have, c.want)
		}
	}
	if have, want := got.Image(), 6*time.Second+3*5*time.Millisecond; have != want {
		t.Errorf("an image: %v, want %v", have, want)
	}
	if have, want := got.Parallel(21, 10), 3*(2*time.Second+after); have != want {
		t.Errorf("21 machines, ten at a time: %v, want %v", have, want)
	}
}
