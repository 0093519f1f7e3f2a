package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMutantsAreNoticedOrNamed(t *testing.T) {
	s := settings{tests: []string{"./testdata/tariff"}, workers: 1}
	scratch := t.TempDir()
	mutants, overlay, err := s.mutate(t.Context(), s.tests, scratch)
	if err != nil {
		t.Fatal(err)
	}
	suites, err := s.build(t.Context(), overlay, scratch)
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.try(t.Context(), suites, mutants)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i, m := range mutants {
		got[m.what] = found[i].String()
	}
	want := map[string]string{
		"one < 0: negated":          "killed",
		"one < 0: or equal":         "survived", // nothing is added by a zero
		"sum = sum + one: left out": "killed",
		"sum + one: -":              "killed",
		"member && known || len(items) >= 3: without len(items) >= 3": "killed",
		"member && known || len(items) >= 3: without member && known": "killed",
		"member && known: without known":                              "killed",
		"member && known: without member":                             "killed",
		"len(items) >= 3: negated":                                    "killed",
		"len(items) >= 3: and not equal":                              "killed",
		"sum -= 1: left out":                                          "killed",
		"note(sum): left out":                                         "survived",
		"last = sum: left out":                                        "survived",
		"if closed(): negated":                                        "killed",
		"sum * 2: /":                                                  "killed",
		"a == 1: negated":                                             "not covered",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what became of the mutants (-want +got):\n%s\nall: %v", diff, slices.Sorted(maps.Keys(got)))
	}
}

func TestTheShareThatIsNoticedIsHeldAgainstTheLeast(t *testing.T) {
	mutants := make([]mutant, 4)
	found := []verdict{killed, timedOut, survived, notCovered}
	if err := (settings{least: 50}).report(mutants, found); err != nil {
		t.Errorf("2 of 4 are noticed: %v", err)
	}
	if err := (settings{least: 51}).report(mutants, found); err == nil {
		t.Error("2 of 4 are noticed, and 51 % were wanted")
	}
}
