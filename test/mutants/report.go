package main

import (
	"fmt"
	"strings"
)

// report counts what became of mutants. Those that are known to make no difference aren't counted among those that are to be noticed.
func (s settings) report(mutants []mutant, found []verdict, list []known) error {
	same := map[string]bool{}
	for _, k := range list {
		same[k.mutant] = true
	}
	var count [len(verdicts)]int
	alike := 0
	for i, v := range found {
		if v <= survived && same[mutants[i].name()] {
			alike++
			continue
		}
		count[v]++
	}
	share := 100
	if rest := len(mutants) - alike; rest > 0 {
		share = 100 * (count[killed] + count[timedOut]) / rest
	}
	fmt.Printf("\n%d mutants: %d killed, %d timed out, %d survived, %d not covered, %d known to make no difference: %d %% of the others noticed\n",
		len(mutants), count[killed], count[timedOut], count[survived], count[notCovered], alike, share)
	if lines := noticed(list, mutants, found); len(lines) > 0 {
		return fmt.Errorf("%s isn't up to date:\n%s", s.known, strings.Join(lines, "\n"))
	}
	if share < s.least {
		return fmt.Errorf("%d %% noticed, at least %d %% wanted", share, s.least)
	}
	return nil
}
