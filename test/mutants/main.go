// Command mutants changes the program in small ways, one at a time, and looks whether its tests notice.
//
//	go run ./test/mutants -tests ./plan ./plan
//	go run ./test/mutants -tests './act,./engine,./test/robustness:^TestHistories$ -seeds 100' -every 4 ./act
//
// The packages are compiled once with all mutants in them, each behind a number; a test process gets one number. So a mutant costs
// the run of the tests that come by it and no compilation. Comparisons are negated and moved by one, parts of conditions left out,
// sums turned into differences, statements left out. What survives is printed, for people to look at: a test is missing, the code
// isn't needed, or the change makes no difference.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

type settings struct {
	tests   []string
	every   int
	only    int
	workers int
	least   int
}

func main() {
	var set settings
	tests := flag.String("tests", "", "packages whose tests are run, in this order, `A,B:TestX -arg`: only some of its tests, with further arguments (default: all tests of the packages themselves)")
	flag.IntVar(&set.every, "every", 1, "try each `N`th mutant only")
	flag.IntVar(&set.only, "only", 0, "try this mutant only, by its `NUMBER`")
	flag.IntVar(&set.workers, "workers", runtime.NumCPU(), "test processes at once")
	flag.IntVar(&set.least, "least", 0, "fail when fewer than this `PERCENT` are noticed")
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
	mutants, overlay, err := s.mutate(ctx, packages, scratch)
	if err != nil {
		return err
	}
	suites, err := s.build(ctx, overlay, scratch)
	if err != nil {
		return err
	}
	var some []mutant
	for i, m := range mutants {
		if s.only == m.n || s.only == 0 && i%s.every == 0 {
			some = append(some, m)
		}
	}
	fmt.Fprintf(os.Stderr, "%d mutants, of which %d are tried\n", len(mutants), len(some))
	found, err := s.try(ctx, suites, some)
	if err != nil {
		return err
	}
	return s.report(some, found)
}

// mutate returns all mutants of the packages, and the file that tells Go what to compile in place of their files.
func (s settings) mutate(ctx context.Context, packages []string, scratch string) ([]mutant, string, error) {
	wanted, err := list(ctx, packages...)
	if err != nil {
		return nil, "", err
	}
	exports := map[string]string{}
	for _, p := range wanted {
		exports[p.ImportPath] = p.Export
	}
	dirs := map[string]bool{}
	for _, p := range packages {
		dir, err := filepath.Abs(p)
		if err != nil {
			return nil, "", err
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
			return nil, "", err
		}
		mutants = append(mutants, some...)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, "", err
	}
	overlay := filepath.Join(scratch, "overlay.json")
	return mutants, overlay, os.WriteFile(overlay, text, 0o600)
}

func (s settings) build(ctx context.Context, overlay, scratch string) ([]*suite, error) {
	var suites []*suite
	for i, text := range s.tests {
		one, err := parseSuite(text)
		if err != nil {
			return nil, err
		}
		one.binary = filepath.Join(scratch, fmt.Sprintf("%d.test", i))
		fmt.Fprintf(os.Stderr, "building and measuring the tests of %s ...\n", one.pkg)
		if err := compile(ctx, one.pkg, overlay, one.binary); err != nil {
			return nil, err
		}
		if err := one.measure(ctx, scratch); err != nil {
			return nil, err
		}
		suites = append(suites, one)
	}
	return suites, nil
}

// try returns what became of each mutant.
func (s settings) try(ctx context.Context, suites []*suite, mutants []mutant) ([]verdict, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	found := make([]verdict, len(mutants))
	work := make(chan int)
	var all sync.WaitGroup
	for range s.workers {
		all.Go(func() {
			for i := range work {
				for _, one := range suites {
					v, err := one.try(ctx, mutants[i])
					if err != nil {
						stop(err)
						return
					}
					found[i] = max(found[i], v)
					if found[i] > survived {
						break
					}
				}
				if found[i] <= survived {
					fmt.Printf("%-11s %5d %s\n", found[i], mutants[i].n, mutants[i])
				}
			}
		})
	}
	for i := range mutants {
		select {
		case work <- i:
		case <-ctx.Done():
		}
	}
	close(work)
	all.Wait()
	return found, context.Cause(ctx)
}

func (s settings) report(mutants []mutant, found []verdict) error {
	var count [len(verdicts)]int
	for _, v := range found {
		count[v]++
	}
	noticed := 100
	if len(mutants) > 0 {
		noticed = 100 * (count[killed] + count[timedOut]) / len(mutants)
	}
	fmt.Printf("\n%d mutants: %d killed, %d timed out, %d survived, %d not covered: %d %% noticed\n",
		len(mutants), count[killed], count[timedOut], count[survived], count[notCovered], noticed)
	if noticed < s.least {
		return fmt.Errorf("%d %% noticed, at least %d %% wanted", noticed, s.least)
	}
	return nil
}
