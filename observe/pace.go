package observe

import (
	"slices"
	"time"
)

const (
	// No guest is asked earlier after its start while nothing is known: few
	// boot more quickly.
	firstAsk = 3 * time.Second
	// paceSamples is how many boots are remembered.
	paceSamples = 32
)

// pace is how long guests take from their start until their agent answers.
type pace struct{ boots []time.Duration }

// expected returns how long after its start a guest is worth asking. Most guests of a cluster come from a
// few images; the quicker ones decide, since asking a slow guest early costs one more question, and asking a quick
// one late costs time.
func (p *pace) expected() time.Duration {
	if len(p.boots) == 0 {
		return firstAsk
	}
	sorted := slices.Sorted(slices.Values(p.boots))
	return sorted[len(sorted)/4]
}

// learn notes an answer: the question was asked and answered so long after the
// start, and down is when the agent was last known not to answer; 0: never. A
// question that waited was answered when the agent came up. One that was answered
// at once tells only that the agent came up some time before: it counts as a bit
// less than what was expected, so that guests that have become quicker are found
// out.
func (p *pace) learn(down, asked, answered time.Duration) {
	boot := (down + asked) / 2
	switch {
	case answered-asked > time.Second:
		boot = answered
	case down == 0:
		boot = min(asked, max(p.expected()*9/10, firstAsk))
	}
	if len(p.boots) >= paceSamples {
		p.boots = p.boots[1:]
	}
	p.boots = append(p.boots, boot)
}

// again returns how long to wait before a guest is asked once more that runs for so
// long: in proportion, so that guests without an agent aren't a burden.
func again(elapsed time.Duration) time.Duration {
	return min(max(elapsed/4, time.Second), 10*time.Minute)
}
