package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/test/mutants/active"
)

// A suite is the tests of one package, compiled with the mutants in it.
type suite struct {
	pkg, dir, binary, scratch string
	only                      *regexp.Regexp
	args                      []string
	names                     []string // of all its tests
	drivers                   int      // that run them: inside of the package, and outside
	tests                     []testCase
}

// parseSuite reads what the flag says of a suite: "PACKAGE[:TESTS] [ARGUMENTS]".
func parseSuite(text string) (*suite, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, errors.New("a package is missing between commas")
	}
	pkg, tests, _ := strings.Cut(words[0], ":")
	only, err := regexp.Compile(tests)
	if err != nil {
		return nil, fmt.Errorf("the tests of %s: %w", pkg, err)
	}
	dir, err := filepath.Abs(pkg)
	if err != nil {
		return nil, err
	}
	return &suite{pkg: pkg, dir: dir, only: only, args: words[1:]}, nil
}

// A testCase is one of its tests, with how long it takes without a mutant and which mutants it comes by.
type testCase struct {
	name  string
	takes time.Duration
	meets map[int]bool
}

// measure runs each test without a mutant, and keeps those that don't take longer than longest, if that is given.
func (s *suite) measure(ctx context.Context, longest time.Duration) error {
	order := active.Order{}
	for _, name := range s.names {
		if s.only.MatchString(name) {
			order.Tests = append(order.Tests, name)
		}
	}
	results, text, err := s.process(ctx, order)
	if err != nil {
		return fmt.Errorf("the tests of %s fail without any mutant: %w\n%s", s.pkg, err, text)
	}
	for _, r := range results {
		if r.Began || longest > 0 && r.Took > longest {
			continue
		}
		one := testCase{name: r.Test, takes: r.Took, meets: map[int]bool{}}
		for _, n := range r.Meets {
			one.meets[n] = true
		}
		s.tests = append(s.tests, one)
	}
	slices.SortStableFunc(s.tests, func(a, b testCase) int { return cmp.Compare(a.takes, b.takes) })
	return nil
}

// process runs the tests as an order says, and returns what they have written down, also when they have ended badly.
func (s *suite) process(ctx context.Context, order active.Order) ([]active.Result, []byte, error) {
	dir, err := os.MkdirTemp(s.scratch, "order")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	order.Out = filepath.Join(dir, "out")
	text, err := json.Marshal(order)
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, "order")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, s.binary, append([]string{"-test.run", "^" + driverName, "-test.timeout", "0"}, s.args...)...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), active.Env+"="+path)
	cmd.WaitDelay = time.Second
	said, ended := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	written, err := os.ReadFile(order.Out)
	if err != nil {
		return nil, said, cmp.Or(ended, err)
	}
	var results []active.Result
	for d := json.NewDecoder(bytes.NewReader(written)); ; {
		var r active.Result
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return results, said, ended
		} else if err != nil {
			return nil, said, fmt.Errorf("read what the tests of %s have written down: %w", s.pkg, err)
		}
		results = append(results, r)
	}
}

// verdict is what became of a mutant.
type verdict int

const (
	notCovered verdict = iota
	survived
	killed
	timedOut
)

var verdicts = [...]string{notCovered: "not covered", survived: "survived", killed: "killed", timedOut: "timed out"}

func (v verdict) String() string { return verdicts[v] }

// try returns what becomes of mutants, each with the tests that come by it, the quickest first. They share a process until one of
// them ends it. A mutant that did so and wasn't the first of its process is tried again alone: it may have been an earlier one's
// goroutine.
func (s *suite) try(ctx context.Context, mutants []mutant) (map[int]verdict, error) {
	found := map[int]verdict{}
	var rest []active.Mutant
	for _, m := range mutants {
		if one := s.order(m); len(one.Tests) > 0 {
			rest = append(rest, one)
		} else {
			found[m.n] = notCovered
		}
	}
	for len(rest) > 0 {
		results, text, ended := s.process(ctx, active.Order{Mutants: rest})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(results) == 0 {
			return nil, fmt.Errorf("the tests of %s: %w\n%s", s.pkg, ended, text)
		}
		last := results[len(results)-1]
		some := s.verdicts(results)
		if control, ran := some[0]; ran && control != survived {
			return s.apart(ctx, mutants)
		}
		delete(some, 0)
		if last.Began && last.N != 0 && (last.N == rest[0].N || exitStatus(ended) == active.ExitTimeout) {
			some[last.N] = killed
			if exitStatus(ended) == active.ExitTimeout {
				some[last.N] = timedOut
			}
		}
		for n, v := range some {
			found[n] = v
		}
		rest = slices.DeleteFunc(rest, func(m active.Mutant) bool { _, done := some[m.N]; return done })
		if i := slices.IndexFunc(rest, func(m active.Mutant) bool { return m.N == last.N }); last.Began && i > 0 {
			rest[0], rest[i] = rest[i], rest[0] // the first of the next process
		}
	}
	return found, nil
}

// verdicts are what is known of mutants: one that some tests have noticed is killed, one that all tests have run with and none has
// noticed has survived.
func (s *suite) verdicts(results []active.Result) map[int]verdict {
	some, passed := map[int]verdict{}, map[int]int{}
	for _, r := range results {
		switch {
		case r.Began:
		case !r.Pass:
			some[r.N] = killed
		default:
			if passed[r.N]++; passed[r.N] == s.drivers && some[r.N] != killed {
				some[r.N] = survived
			}
		}
	}
	return some
}

// apart tries mutants in a process each, since one of them has left something behind. If tests fail in a process without any mutant,
// too, something else has changed since they were measured, such as their files: nothing can be said then.
func (s *suite) apart(ctx context.Context, mutants []mutant) (map[int]verdict, error) {
	var order active.Order
	for _, t := range s.tests {
		order.Tests = append(order.Tests, t.name)
	}
	if _, text, err := s.process(ctx, order); err != nil {
		return nil, fmt.Errorf("the tests of %s fail without any mutant by now: %w\n%s", s.pkg, err, text)
	}
	found := map[int]verdict{}
	for _, m := range mutants {
		found[m.n] = notCovered
		one := s.order(m)
		if len(one.Tests) == 0 {
			continue
		}
		results, text, ended := s.process(ctx, active.Order{Mutants: []active.Mutant{one}})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(results) == 0 {
			return nil, fmt.Errorf("the tests of %s: %w\n%s", s.pkg, ended, text)
		}
		found[m.n] = killed
		switch {
		case exitStatus(ended) == active.ExitTimeout:
			found[m.n] = timedOut
		default:
			if v, known := s.verdicts(results)[m.n]; known {
				found[m.n] = v
			}
		}
	}
	return found, nil
}

// order is what a process is told about a mutant.
func (s *suite) order(m mutant) active.Mutant {
	one := active.Mutant{N: m.n}
	var takes time.Duration
	for _, t := range s.tests {
		if t.meets[m.n] {
			one.Tests = append(one.Tests, t.name)
			takes += t.takes
		}
	}
	// A mutant may never end. Machines are shared and noisy, so that tests get much more time than they took.
	one.Limit = 20*time.Second + 10*takes
	return one
}

func exitStatus(err error) int {
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return failed.ExitCode()
	}
	return 0
}
