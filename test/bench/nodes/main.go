// Command nodes measures what nodes of a Kubernetes cost that Karpenter or MachineDeployments make: a real kube-apiserver, etcd,
// kube-controller-manager and kube-scheduler, `proxplane operator` as a process of its own, a simulated Proxmox with the times of
// test/bench/world whose guests take as long to boot as real ones, and machines that join. It prints Markdown tables and writes them into docs/performance.md, and fails if a target
// doesn't hold.
//
//	go run ./test/bench/nodes -door karpenter
//	go run ./test/bench/nodes -door machines -n 20 -page ""
//
// The bound is the time that Proxmox and the guests take for so many machines, and what one machine alone takes beside that until it is a node.
// Afterwards each machine loses its first-boot data, which is counted apart.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/proxplane/proxplane/test/bench/figures"
	"github.com/proxplane/proxplane/test/bench/world"
)

// settings are what the flags say.
type settings struct {
	door string
	n    int
	rest int
	boot time.Duration
	slow time.Duration
	list bool
	page string
}

func main() {
	set := settings{}
	flag.StringVar(&set.door, "door", "karpenter", "karpenter or machines")
	flag.IntVar(&set.n, "n", 100, "nodes that are made at once")
	flag.IntVar(&set.rest, "rest", 1000, "nodes at rest; 0: leave that part out. Only with karpenter")
	flag.DurationVar(&set.boot, "boot", 25*time.Second, "how long a guest takes from its start until its kubelet runs: 20 to 40 s for a real one")
	flag.DurationVar(&set.slow, "slow", 20*time.Second, "measure as well with clones that take as long; 0: don't")
	flag.BoolVar(&set.list, "requests", false, "list the requests by their kinds")
	flag.StringVar(&set.page, "page", "docs/performance.md", "`FILE` to write the tables into; empty: none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := set.run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "bench-%s: %v\n", set.door, err)
		stop()
		os.Exit(1)
	}
}

func (s settings) run(ctx context.Context) error {
	door, known := doors[s.door]
	if !known {
		return fmt.Errorf("-door %s: want karpenter or machines", s.door)
	}
	begun := time.Now()
	yaml := lifelike(world.YAML, s.boot)
	r := &report{settings: s, passes: []*pass{{yaml: yaml}}}
	if s.slow > 0 {
		r.passes = append(r.passes, &pass{yaml: slower(yaml, s.slow)})
	}
	for _, one := range r.passes {
		if err := one.measure(ctx, door, s.n); err != nil {
			return err
		}
	}
	if s.door == "karpenter" && s.rest > 0 {
		said("%d nodes at rest, in virtual time ...", s.rest)
		if err := r.atRest(ctx); err != nil {
			return err
		}
	}
	said("all of it took %s", time.Since(begun).Round(time.Second))
	text, targets := r.String(), r.targets()
	fmt.Print(text)
	var err error
	if s.page != "" {
		err = figures.Put(s.page, "make bench-"+s.door, text)
	}
	if missed := figures.Missed(targets); len(missed) > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d targets don't hold", len(missed), len(targets)))
	}
	return err
}

// said tells those who wait how far it is.
func said(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
