package plan

import (
	"errors"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/test/kit/golden"
)

// trace compares all plans that a test comes by, from its first convergence on, with a file of testdata/traces: tests that are about
// one thing would miss it if another changes. Tests without a file aren't compared until -update has made one.
func (w *world) trace(t any) {
	test, ok := t.(*testing.T)
	if !ok || w.told != nil {
		return
	}
	told := &strings.Builder{}
	w.told = told
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("/ ,:'\"", r) {
			return '-'
		}
		return r
	}, test.Name())
	for n := 2; traced[test] != nil && traced[test][name]; n++ { // a test with several worlds
		name = strings.TrimRight(name, "+") + strings.Repeat("+", n-1)
	}
	if traced[test] == nil {
		traced[test] = map[string]bool{}
		test.Cleanup(func() { delete(traced, test) })
	}
	traced[test][name] = true
	test.Cleanup(func() {
		file := filepath.Join("traces", name+".golden")
		if _, err := os.Stat(filepath.Join("testdata", file)); !test.Failed() && (*golden.Update || !errors.Is(err, fs.ErrNotExist)) {
			golden.Compare(test, file, told.String())
		}
	})
}

// traced are the files of tests that run.
var traced = map[*testing.T]map[string]bool{}

// inOrder are the cases of a table by their names: in any other order, traces would differ.
func inOrder[V any](cases map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			if !yield(name, cases[name]) {
				return
			}
		}
	}
}

// quiet is a test whose plans aren't traced.
type quiet struct{ testing.TB }
