// Command terraform measures what machines cost with OpenTofu: our provider with replicas and with
// for_each, and the public bpg/proxmox beside it, each on a fresh simulator with the times of
// test/bench/world. It prints Markdown tables and writes them into docs/performance.md and three rows into README.md, and
// fails if a target doesn't hold.
//
//	go run ./test/bench/terraform
//	go run ./test/bench/terraform -n 1,20 -plans "" -page "" -readme ""
//
// OpenTofu and bpg/proxmox are built from their modules once (see test/clients). Providers run below
// this program, which counts what they use (meter.go); requests are counted by the simulator.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/proxplane/proxplane/test/bench/figures"
	"github.com/proxplane/proxplane/test/bench/world"
	"github.com/proxplane/proxplane/test/kit/outside"
	"github.com/proxplane/proxplane/test/kit/tool"
)

// mark names the place in docs/performance.md.
const mark = "make bench-terraform"

func main() {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "terraform-provider-") {
		os.Exit(meterProvider())
	}
	counts := flag.String("n", "1,20,100", "numbers of machines")
	plans := flag.String("plans", "100,1000", "numbers of machines whose plan has nothing to do; the largest one isn't made by bpg")
	page := flag.String("page", "docs/performance.md", "`FILE` to write the tables into; empty: none")
	readme := flag.String("readme", "README.md", "`FILE` with a table that gets the figures of 100 machines; empty: none")
	only := flag.String("only", "", "measure clients only whose name has this `TEXT`, such as for_each")
	list := flag.Bool("requests", false, "list the requests of each command by their kinds")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *counts, *plans, *page, *readme, choice{*only, *list}); err != nil {
		fmt.Fprintln(os.Stderr, "bench-terraform:", err)
		stop()
		os.Exit(1)
	}
}

// choice is what is measured and shown.
type choice struct {
	only string
	list bool
}

func run(ctx context.Context, counts, plans, page, readme string, c choice) error {
	create, err := figures.Numbers(counts)
	if err != nil {
		return fmt.Errorf("-n: %w", err)
	}
	look, err := figures.Numbers(plans)
	if err != nil {
		return fmt.Errorf("-plans: %w", err)
	}
	dir, err := os.MkdirTemp("", "proxplane-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := findPrograms(ctx, dir)
	if err != nil {
		return err
	}
	times, err := world.TimesOf(world.YAML)
	if err != nil {
		return fmt.Errorf("the world: %w", err)
	}
	begun := time.Now()
	p.list = c.list
	r := &report{times: times, versions: p.versions, machine: figures.Machine(), only: c.only}
	if err := r.measure(ctx, p, create, look); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "all of it took %s\n", time.Since(begun).Round(time.Second))
	text := r.String()
	fmt.Print(text)
	if page != "" {
		err = figures.Put(page, mark, text)
	}
	if readme != "" {
		err = errors.Join(err, r.shorten(readme))
	}
	if missed := figures.Missed(r.targets()); len(missed) > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d targets don't hold", len(missed), len(r.targets())))
	}
	return err
}

// programs are what is run.
type programs struct {
	dir, proxplane, tofu, ours, bpg string
	versions                        string // of those that aren't ours
	list                            bool   // requests by their kinds
}

// findPrograms builds what isn't there.
func findPrograms(ctx context.Context, dir string) (*programs, error) {
	p := &programs{dir: dir}
	tofu, err := tool.Open(ctx, "test/clients/tofu")
	if err != nil {
		return nil, err
	}
	bpg, err := tool.Open(ctx, "test/clients/bpg")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(tofu.Build(ctx, os.Stderr), bpg.Build(ctx, os.Stderr)); err != nil {
		return nil, err
	}
	p.tofu, p.bpg = tofu.Path("tofu"), bpg.Path("terraform-provider-proxmox")
	p.versions = fmt.Sprintf("OpenTofu %s, bpg/proxmox %s", tofu.Version, bpg.Version)
	if p.proxplane, err = outside.Build(ctx, ".", "./cmd/proxplane", dir); err != nil {
		return nil, err
	}
	p.ours, err = outside.Build(ctx, ".", "./cmd/terraform-provider-proxplane", dir)
	return p, err
}
