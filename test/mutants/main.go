// Command mutants changes the program in small ways, one at a time, and looks whether its tests notice.
//
//	go run ./test/mutants -tests ./plan ./plan
//	go run ./test/mutants -tests './act,./engine,./test/robustness:^TestHistories$ -seeds 100' -every 4 ./act
//
// The packages are compiled once with all mutants in them, each behind a number, and a process of tests switches on one after the
// other. So a mutant costs the run of the tests that come by it, and neither a compilation nor a process. Comparisons are negated and moved by one, parts of conditions left out,
// sums turned into differences, statements left out. What survives is printed, for people to look at: a test is missing, the code
// isn't needed, or the change makes no difference.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

type settings struct {
	tests   []string
	every   int
	offset  int
	only    int
	files   string
	longest time.Duration
	skip    string
	unmet   bool
	workers int
	least   int
	known   string
}

func main() {
	var set settings
	tests := flag.String("tests", "", "packages whose tests are run, in this order, `A,B:TestX -arg`: only some of its tests, with further arguments (default: all tests of the packages themselves)")
	flag.IntVar(&set.every, "every", 1, "try each `N`th mutant only")
	flag.IntVar(&set.offset, "offset", 0, "with -every: begin with the `K`th mutant, counted from 0, for another sample of the same size")
	flag.IntVar(&set.only, "only", 0, "try this mutant only, by its `NUMBER`")
	flag.StringVar(&set.files, "files", "", "try only mutants of files whose paths match this `REGEXP`")
	flag.DurationVar(&set.longest, "longest", 0, "leave out tests that take longer than this")
	flag.StringVar(&set.skip, "skip", "", "leave out tests whose names match this `REGEXP`: such as take long, and notice little that others don't")
	flag.BoolVar(&set.unmet, "uncovered", false, "print only the mutants that no test comes by, and try none")
	flag.IntVar(&set.workers, "workers", runtime.NumCPU(), "test processes at once")
	flag.IntVar(&set.least, "least", 0, "fail when fewer than this `PERCENT` are noticed")
	flag.StringVar(&set.known, "known", "", "`FILE` with the mutants that are known to make no difference, each with the reason")
	flag.Parse()
	set.tests = strings.FieldsFunc(*tests, func(r rune) bool { return r == ',' })
	if len(set.tests) == 0 {
		set.tests = flag.Args()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := set.run(ctx, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func (s settings) run(ctx context.Context, packages []string) error {
	if len(packages) == 0 {
		return fmt.Errorf("which packages? For example ./plan")
	}
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	mutants, replace, err := s.mutate(ctx, packages, scratch)
	if err != nil {
		return err
	}
	some, err := s.choose(mutants)
	if err != nil {
		return err
	}
	list, err := readKnown(s.known)
	if err != nil {
		return err
	}
	if lines := missing(list, mutants); len(lines) > 0 {
		return fmt.Errorf("%s isn't up to date:\n%s", s.known, strings.Join(lines, "\n"))
	}
	suites, err := s.build(ctx, replace, scratch)
	if err != nil {
		return err
	}
	if s.unmet {
		for _, m := range some {
			if !slices.ContainsFunc(suites, func(one *suite) bool { return len(one.order(m).Tests) > 0 }) {
				fmt.Printf("%-11s %5d %s\n", notCovered, m.n, m)
			}
		}
		return nil
	}
	fmt.Fprintf(os.Stderr, "%d mutants, of which %d are tried\n", len(mutants), len(some))
	found, err := s.try(ctx, suites, some)
	if err != nil {
		return err
	}
	return s.report(some, found, list)
}

// choose returns the mutants that are tried.
func (s settings) choose(mutants []mutant) ([]mutant, error) {
	files, err := regexp.Compile(s.files)
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	var some []mutant
	count := 0
	for _, m := range mutants {
		if !files.MatchString(m.where.Filename) || s.only != 0 && s.only != m.n {
			continue
		}
		if count%max(1, s.every) == s.offset%max(1, s.every) {
			some = append(some, m)
		}
		count++
	}
	return some, nil
}

// mutate returns all mutants of the packages, and which files are compiled in place of which.
func (s settings) mutate(ctx context.Context, packages []string, scratch string) ([]mutant, map[string]string, error) {
	wanted, err := list(ctx, packages...)
	if err != nil {
		return nil, nil, err
	}
	exports := map[string]string{}
	for _, p := range wanted {
		exports[p.ImportPath] = p.Export
	}
	dirs := map[string]bool{}
	for _, p := range packages {
		dir, err := filepath.Abs(p)
		if err != nil {
			return nil, nil, err
		}
		dirs[dir] = true
	}
	count := 0
	next := func() int { count++; return count }
	replace := map[string]string{}
	var mutants []mutant
	for _, p := range wanted {
		if !dirs[p.Dir] {
			continue
		}
		some, err := mutatePackage(p, exports, scratch, next, replace)
		if err != nil {
			return nil, nil, err
		}
		mutants = append(mutants, some...)
	}
	return mutants, replace, nil
}

func (s settings) build(ctx context.Context, replace map[string]string, scratch string) ([]*suite, error) {
	var suites []*suite
	for i, text := range s.tests {
		one, err := parseSuite(text)
		if err != nil {
			return nil, err
		}
		one.scratch, one.binary = scratch, filepath.Join(scratch, fmt.Sprintf("%d.test", i))
		all, err := list(ctx, one.pkg)
		if err != nil {
			return nil, err
		}
		replace := maps.Clone(replace)
		for _, p := range all {
			if p.Dir == one.dir {
				if one.names, one.drivers, err = addDrivers(p, scratch, replace); err != nil {
					return nil, err
				}
			}
		}
		if s.skip != "" {
			skip, err := regexp.Compile(s.skip)
			if err != nil {
				return nil, fmt.Errorf("skip: %w", err)
			}
			one.names = slices.DeleteFunc(one.names, skip.MatchString)
		}
		overlay := filepath.Join(scratch, fmt.Sprintf("%d.json", i))
		text, err := json.Marshal(map[string]any{"Replace": replace})
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(overlay, text, 0o600); err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "building and measuring the tests of %s ...\n", one.pkg)
		if err := compile(ctx, one.pkg, overlay, one.binary); err != nil {
			return nil, err
		}
		if err := one.measure(ctx, s.longest); err != nil {
			return nil, err
		}
		suites = append(suites, one)
	}
	return suites, nil
}

// batch is how many mutants share a process.
const batch = 40

// try returns what became of each mutant: each suite tries those that the suites before it haven't noticed.
func (s settings) try(ctx context.Context, suites []*suite, mutants []mutant) ([]verdict, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	found := map[int]verdict{}
	work := make(chan []mutant)
	var all sync.WaitGroup
	for range s.workers {
		all.Go(func() {
			for some := range work {
				if err := s.tryBatch(ctx, suites, some, &mu, found); err != nil {
					stop(err)
					return
				}
			}
		})
	}
	for some := range slices.Chunk(mutants, batch) {
		select {
		case work <- some:
		case <-ctx.Done():
		}
	}
	close(work)
	all.Wait()
	verdicts := make([]verdict, len(mutants))
	for i, m := range mutants {
		verdicts[i] = found[m.n]
	}
	return verdicts, context.Cause(ctx)
}

func (s settings) tryBatch(ctx context.Context, suites []*suite, mutants []mutant, mu *sync.Mutex, found map[int]verdict) error {
	rest := mutants
	best := map[int]verdict{}
	for _, one := range suites {
		some, err := one.try(ctx, rest)
		if err != nil {
			return err
		}
		for n, v := range some {
			best[n] = max(best[n], v)
		}
		rest = slices.DeleteFunc(slices.Clone(rest), func(m mutant) bool { return best[m.n] > survived })
	}
	mu.Lock()
	defer mu.Unlock()
	for _, m := range mutants {
		found[m.n] = best[m.n]
		if best[m.n] <= survived {
			fmt.Printf("%-11s %5d %s\n", best[m.n], m.n, m)
		}
	}
	return nil
}
