package main

import (
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	if err := (settings{least: 50}).report(mutants, found, nil); err != nil {
		t.Errorf("2 of 4 are noticed: %v", err)
	}
	if err := (settings{least: 51}).report(mutants, found, nil); err == nil {
		t.Error("2 of 4 are noticed, and 51 % were wanted")
	}
}

func TestMutantsThatMakeNoDifferenceAreListed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "known")
	write := func(text string) []known {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := readKnown(file)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	at := func(path, what string) mutant { return mutant{where: token.Position{Filename: path}, what: what} }
	mutants := []mutant{at("a/x.go", "one: left out"), at("../../a/x.go", "two: negated")}
	found := []verdict{killed, survived}
	list := write("# why\n\na/x.go: two: negated # it saves work\n")
	if lines := missing(list, mutants); lines != nil {
		t.Error(lines)
	}
	if err := (settings{least: 100}).report(mutants, found, list); err != nil {
		t.Errorf("the other one is noticed: %v", err)
	}
	if lines := missing(write("a/x.go: three: negated # it saves work\nb/x.go: other # of another package\n"), mutants); len(lines) != 1 {
		t.Errorf("there is no such mutant: %v", lines)
	}
	if err := (settings{}).report(mutants, found, write("a/x.go: one: left out # it saves work")); err == nil {
		t.Error("tests notice it")
	}
	if err := os.WriteFile(file, []byte("a/x.go: one: left out\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readKnown(file); err == nil {
		t.Error("it has no reason")
	}
}

// The list of this repository is about mutants that there are.
func TestTheListIsUpToDate(t *testing.T) {
	list, err := readKnown("known.txt")
	if err != nil {
		t.Fatal(err)
	}
	var s settings
	mutants, _, err := s.mutate(t.Context(), []string{"../../plan", "../../act"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if lines := missing(list, mutants); len(list) == 0 || len(lines) > 0 {
		t.Errorf("%d lines; %s", len(list), strings.Join(lines, "\n"))
	}
}
