// Command operator measures what the operator costs: a real kube-apiserver and
// etcd, `proxplane operator` and a simulated Proxmox, each a process of its own. It
// prints Markdown tables and writes them into docs/performance.md, and fails if a target
// doesn't hold.
//
//	go run ./test/bench/operator
//	go run ./test/bench/operator -many 2000 -page ""
//
// There are three parts, each with an operator, a Proxmox and a namespace of its
// own: machines that are made and deleted again; a deletion amid many creations;
// and many machines at rest.
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
	"github.com/proxplane/proxplane/test/kit/outside"
)

// settings are what the flags say.
type settings struct {
	some, many int
	rest       time.Duration
	program    string
	page       string
	profiles   string
}

// mark names the place in docs/performance.md.
const mark = "make bench-operator"

func main() {
	set := settings{}
	flag.IntVar(&set.some, "some", 1000, "machines that are made and deleted")
	flag.IntVar(&set.many, "many", 10_000, "machines at rest; 0: leave that part out")
	flag.DurationVar(&set.rest, "rest", time.Minute, "how long they are watched at rest")
	flag.StringVar(&set.program, "proxplane", "", "the `PROGRAM` (default: built now)")
	flag.StringVar(&set.page, "page", "docs/performance.md", "`FILE` to write the tables into; empty: none")
	flag.StringVar(&set.profiles, "profiles", "", "write profiles of the operator into this `FOLDER`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := set.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench-operator:", err)
		stop()
		os.Exit(1)
	}
}

func (s settings) run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "proxplane-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if s.program == "" {
		if s.program, err = outside.Build(ctx, ".", "./cmd/proxplane", dir); err != nil {
			return err
		}
	}
	l, err := newLab(ctx, s.program, dir, s.profiles)
	if err != nil {
		return err
	}
	defer l.plane.Stop()
	begun := time.Now()
	r := &report{settings: s}
	for _, part := range []func(context.Context, *lab) error{r.makeSome, r.deleteAmid, r.keepMany} {
		if err := part(ctx, l); err != nil {
			return err
		}
	}
	said("all of it took %s", time.Since(begun).Round(time.Second))
	text := r.String()
	fmt.Print(text)
	if s.page != "" {
		err = figures.Put(s.page, mark, text)
	}
	if missed := figures.Missed(r.targets); len(missed) > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d targets don't hold", len(missed), len(r.targets)))
	}
	return err
}

// said tells those who wait how far it is.
func said(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
