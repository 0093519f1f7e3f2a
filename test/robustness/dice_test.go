package robustness

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// dice are thrown for one purpose of one seed: what one part of a history
// draws doesn't change what the others do.
type dice struct{ *rand.Rand }

func newDice(seed uint64, purpose string) dice {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return dice{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

func (d dice) chance(p float64) bool { return d.Float64() < p }

// between draws a time, in steps of milliseconds.
func (d dice) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(d.Int64N(int64((hi-lo)/time.Millisecond)+1))*time.Millisecond
}

// number draws one of lo to hi, both included.
func (d dice) number(lo, hi int) int { return lo + d.IntN(hi-lo+1) }

func pick[T any](d dice, list ...T) T { return list[d.IntN(len(list))] }

// weighted draws an index, where larger weights come more often.
func (d dice) weighted(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := d.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return 0
}

// some draws about that share of a list, at least one.
func some[T any](d dice, share float64, list []T) []T {
	var out []T
	for _, v := range list {
		if d.chance(share) {
			out = append(out, v)
		}
	}
	if len(out) == 0 && len(list) > 0 {
		out = append(out, pick(d, list...))
	}
	return out
}
