package loadtest

import (
	"math"
	"slices"
	"time"
)

// Sample is one operation.
type Sample struct {
	Start time.Duration `json:"start"` // since the load began
	Took  time.Duration `json:"took"`
	Error string        `json:"error,omitempty"`
}

// Figures are the measurements of one kind of operation.
type Figures struct {
	Operation string        `json:"operation"`
	Done      int           `json:"done"`
	Failed    int           `json:"failed"`
	P50       time.Duration `json:"p50"` // of those that were done
	P95       time.Duration `json:"p95"`
	P99       time.Duration `json:"p99"`
	Longest   time.Duration `json:"longest"`
	Wall      time.Duration `json:"wall"`      // from the first to the last
	PerMinute float64       `json:"perMinute"` // how many were done
	Requests  float64       `json:"requests"`  // of each, with all that it takes to know what is there
	Writes    float64       `json:"writes"`    // of these
	Samples   []Sample      `json:"samples"`
}

// figure works out the figures of samples.
func figure(name string, samples []Sample, wall time.Duration, requests, writes int64) Figures {
	f := Figures{Operation: name, Wall: wall, Samples: samples}
	var took []time.Duration
	for _, s := range samples {
		if s.Error != "" {
			f.Failed++
			continue
		}
		took = append(took, s.Took)
	}
	f.Done = len(took)
	slices.Sort(took)
	f.P50, f.P95, f.P99 = percentile(took, 50), percentile(took, 95), percentile(took, 99)
	if f.Done > 0 {
		f.Longest = took[f.Done-1]
	}
	if wall > 0 {
		f.PerMinute = float64(f.Done) / wall.Minutes()
	}
	if n := len(samples); n > 0 {
		f.Requests, f.Writes = float64(requests)/float64(n), float64(writes)/float64(n)
	}
	return f
}

// percentile is the smallest of the sorted values that p percent of them don't
// exceed. It is one that was measured, never one in between.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
