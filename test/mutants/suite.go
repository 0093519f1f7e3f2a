package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A suite is the tests of one package, compiled with the mutants in it.
type suite struct {
	pkg, dir, binary string
	only             *regexp.Regexp
	args             []string
	tests            []testCase
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

var testName = regexp.MustCompile(`^(Test|Example)`)

// measure runs each test alone, without a mutant.
func (s *suite) measure(ctx context.Context, scratch string) error {
	out, err := s.command(ctx, 0, "-test.list", ".").Output()
	if err != nil {
		return fmt.Errorf("list the tests of %s: %w", s.pkg, err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if !testName.MatchString(name) || !s.only.MatchString(name) {
			continue
		}
		seen := filepath.Join(scratch, "seen")
		_ = os.Remove(seen)
		cmd := s.command(ctx, 0, "-test.run", "^"+name+"$")
		cmd.Env = append(cmd.Env, "MUTANT_SEEN="+seen)
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s of %s fails without any mutant: %w\n%s", name, s.pkg, err, out)
		}
		one := testCase{name: name, takes: time.Since(began), meets: map[int]bool{}}
		text, err := os.ReadFile(seen)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for line := range strings.FieldsSeq(string(text)) {
			n, err := strconv.Atoi(line)
			if err != nil {
				return fmt.Errorf("read which mutants %s meets: %w", name, err)
			}
			one.meets[n] = true
		}
		s.tests = append(s.tests, one)
	}
	slices.SortStableFunc(s.tests, func(a, b testCase) int { return cmp.Compare(a.takes, b.takes) })
	return nil
}

func (s *suite) command(ctx context.Context, mutant int, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.binary, append(args, s.args...)...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(mutant))
	cmd.WaitDelay = time.Second
	return cmd
}

// atOnce is how many quick tests are tried before all others that come by a mutant.
const atOnce = 5

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

// try runs the tests that come by a mutant, the quickest first.
func (s *suite) try(ctx context.Context, m mutant) (verdict, error) {
	var meet []testCase
	for _, t := range s.tests {
		if t.meets[m.n] {
			meet = append(meet, t)
		}
	}
	if len(meet) == 0 {
		return notCovered, nil
	}
	first := meet[:min(atOnce, len(meet))]
	for _, some := range [][]testCase{first, meet[len(first):]} {
		if len(some) == 0 {
			continue
		}
		v, err := s.run(ctx, m, some)
		if err != nil || v != survived {
			return v, err
		}
	}
	return survived, nil
}

func (s *suite) run(ctx context.Context, m mutant, some []testCase) (verdict, error) {
	var names []string
	var takes time.Duration
	for _, t := range some {
		names = append(names, t.name)
		takes += t.takes
	}
	// A mutant may never end. Machines are shared and noisy, so that a test gets much more time than it took.
	limit := 30*time.Second + 10*takes
	ctx2, stop := context.WithTimeout(ctx, limit+10*time.Second)
	defer stop()
	cmd := s.command(ctx2, m.n, "-test.failfast", "-test.timeout", limit.String(), "-test.run", "^("+strings.Join(names, "|")+")$")
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err == nil:
		return survived, nil
	case ctx2.Err() != nil, bytes.Contains(out, []byte("panic: test timed out after")):
		return timedOut, nil
	case errors.As(err, &failed):
		return killed, nil
	}
	return 0, fmt.Errorf("run the tests of %s: %w", s.pkg, err)
}
