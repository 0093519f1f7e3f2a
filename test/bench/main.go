// Command bench measures how long machines take and what they cost: the real
// engine and client, over TLS, against a simulated Proxmox in a process of its
// own, with the times of world/world.yaml. It prints Markdown tables.
//
//	go run ./test/bench
//	go run ./test/bench -n 1,100 -places 0 -rest 0
//
// Each row is a fresh simulator and a fresh client process. The bound is what no
// client can beat with these times (see world/times.go). Failed tasks are counted in
// the simulator's state, requests by both sides.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/proxplane/proxplane/test/bench/figures"
	"github.com/proxplane/proxplane/test/bench/world"
	"github.com/proxplane/proxplane/test/kit/outside"
)

// settings are what the flags say.
type settings struct {
	counts  []int // of machines
	places  []int // clones at a time on a storage; 0: any number
	rest    time.Duration
	runs    int
	binary  string
	world   string
	profile string
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == clientWord {
		if err := runClient(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench client:", err)
			os.Exit(1)
		}
		return
	}
	set := settings{}
	counts := flag.String("n", "1,20,100,1000", "numbers of machines")
	places := flag.String("places", "0,4", "clones at a time on a storage; 0: any number")
	flag.DurationVar(&set.rest, "rest", time.Minute, "how long the largest number is kept at rest; 0: not at all")
	flag.IntVar(&set.runs, "runs", 1, "run each so often and print the quickest")
	flag.StringVar(&set.binary, "proxplane", "", "the program with `sim` and `plan` (default: built now)")
	flag.StringVar(&set.world, "world", "", "`FILE` with the simulator's world (default: test/bench/world/world.yaml)")
	flag.StringVar(&set.profile, "cpuprofile", "", "write a CPU profile of the last client to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := set.run(ctx, *counts, *places); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (s *settings) run(ctx context.Context, counts, places string) (err error) {
	if s.counts, err = figures.Numbers(counts); err != nil {
		return fmt.Errorf("-n: %w", err)
	}
	if s.places, err = figures.Numbers(places); err != nil {
		return fmt.Errorf("-places: %w", err)
	}
	dir, err := os.MkdirTemp("", "proxplane-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if s.binary == "" {
		if s.binary, err = outside.Build(ctx, ".", "./cmd/proxplane", dir); err != nil {
			return err
		}
	}
	yaml := world.YAML
	if s.world != "" {
		if yaml, err = os.ReadFile(s.world); err != nil {
			return err
		}
	}
	times, err := world.TimesOf(yaml)
	if err != nil {
		return fmt.Errorf("the world: %w", err)
	}
	fmt.Print(times.Header())
	r := &report{settings: s, dir: dir, world: yaml, times: times}
	for _, places := range s.places {
		fmt.Print(tableHead(places))
		for _, n := range s.counts {
			if err := r.row(ctx, n, places); err != nil {
				return fmt.Errorf("%d machines, %d clones at a time: %w", n, places, err)
			}
		}
	}
	if r.apart != nil {
		fmt.Print(r.apart.table())
		fmt.Print(r.leased.table())
		fmt.Print(r.images.table(r.times))
	}
	if r.kept != nil {
		fmt.Print(r.kept.table(r.first))
		r.targets = append(r.targets, r.kept.targets(r.first)...)
	}
	fmt.Print(figures.Verdict(r.targets))
	return nil
}

// report is all that is measured.
type report struct {
	*settings
	dir     string
	world   []byte
	times   world.Times
	first   time.Duration // of a single machine
	kept    *keeping
	apart   *apart
	leased  *pooled
	images  *images
	targets []figures.Target
}

// row measures and prints one row of a table.
func (r *report) row(ctx context.Context, n, places int) error {
	b := &bench{settings: r.settings, dir: r.dir, world: r.world, n: n, places: places}
	// What comes after the machines are there doesn't depend on how many clones
	// there were at a time.
	b.keeps = r.rest > 0 && places == r.settings.places[0] && n == r.counts[len(r.counts)-1]
	best, err := b.best(ctx)
	if err != nil {
		return err
	}
	fmt.Print(best.row(r.times, n, places))
	if best.keeping != nil {
		r.kept = best.keeping
	}
	if n == 1 && r.first == 0 {
		r.first = best.Wall
	}
	r.targets = append(r.targets, targetsOf(best, r.times, n, places)...)
	if n == callers && places == r.settings.places[0] {
		if r.apart, err = r.callers(ctx, best, n, places); err != nil {
			return fmt.Errorf("put by callers of their own: %w", err)
		}
		if r.leased, err = r.pooled(ctx, best, n, places); err != nil {
			return fmt.Errorf("with addresses from a pool: %w", err)
		}
		if r.images, err = r.fetched(ctx, n, places); err != nil {
			return fmt.Errorf("from an image with a URL: %w", err)
		}
	}
	return nil
}

// callers is for how many machines it is measured what it costs when each is put by a caller of
// its own.
const callers = 100

// callers measures that, beside what it costs to apply the same machines together.
func (r *report) callers(ctx context.Context, together *result, n, places int) (*apart, error) {
	b := &bench{settings: r.settings, dir: r.dir, world: r.world, n: n, places: places, callers: true}
	best, err := b.best(ctx)
	if err != nil {
		return nil, err
	}
	a := &apart{n: n, together: together, alone: best}
	r.targets = append(r.targets, a.targets()...)
	return a, nil
}
