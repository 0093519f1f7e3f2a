package operator

import "testing"

func TestGoCollectsBeforeTheContainerIsFull(t *testing.T) {
	for _, c := range []struct {
		reason string
		env    map[string]string
		want   int64
		wrong  bool
	}{
		{reason: "outside of a container there is no limit"},
		{reason: "a fifth is left for temporary files and what Go doesn't count", env: map[string]string{MemoryLimit: "1000"}, want: 800},
		{reason: "who sets GOMEMLIMIT decides", env: map[string]string{MemoryLimit: "1000", "GOMEMLIMIT": "10MiB"}},
		{reason: "a quantity isn't a number of bytes", env: map[string]string{MemoryLimit: "512Mi"}, wrong: true},
		{reason: "less than nothing", env: map[string]string{MemoryLimit: "-1"}, wrong: true},
	} {
		got, err := softLimit(func(name string) string { return c.env[name] })
		if got != c.want || err != nil != c.wrong {
			t.Errorf("%s: %d, %v", c.reason, got, err)
		}
	}
}
