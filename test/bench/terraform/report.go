package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/test/bench/figures"
	"github.com/proxplane/proxplane/test/bench/world"
)

// workers is how many resources Terraform works on at a time, unless told otherwise.
const workers = 10

// row is what was measured of a client with so many machines.
type row struct {
	client client
	n      int
	cost
}

// report is all that was measured.
type report struct {
	times      world.Times
	versions   string
	machine    string // what it was measured on
	only       string // a part of the names of clients
	made, seen []row
}

// measure makes machines with each client, and then plans where nothing is to be done.
func (r *report) measure(ctx context.Context, p *programs, counts, plans []int) error {
	for _, c := range clients() {
		if !strings.Contains(c.name, r.only) {
			continue
		}
		all := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(counts), plans...))))
		for _, n := range all {
			made := slices.Contains(counts, n)
			if c.theirs && !made {
				continue // a quarter of an hour, for one line
			}
			if err := r.one(ctx, p, c, n, made, slices.Contains(plans, n)); err != nil {
				return fmt.Errorf("%s, %d machines: %w", c.name, n, err)
			}
		}
	}
	return nil
}

// one measures a client with so many machines.
func (r *report) one(ctx context.Context, p *programs, c client, n int, count, plan bool) error {
	w, err := open(ctx, p, c, n)
	if err != nil {
		return err
	}
	defer w.close()
	args := []string{"apply", "-auto-approve"}
	if !count { // what it costs to make them isn't asked
		args = append(args, fmt.Sprintf("-parallelism=%d", n))
	}
	made, err := w.run(ctx, args...)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %d machines in %s\n", c.name, n, made.wall.Round(time.Millisecond))
	if count {
		r.made = append(r.made, row{c, n, made})
	}
	if !plan {
		return nil
	}
	seen, err := w.run(ctx, "plan", "-detailed-exitcode")
	if err == nil {
		r.seen = append(r.seen, row{c, n, seen})
	}
	return err
}

// bound is the shortest time that is possible: for Proxmox, or for Terraform, which works on ten resources at a time.
func (r *report) bound(m row) time.Duration {
	if m.client.one {
		return r.times.Bound(m.n, 0)
	}
	return r.times.Parallel(m.n, workers)
}

func (r *report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, each with its default parallelism, on %s. *Bound* is the shortest time that Proxmox needs; with `for_each`, if ten machines are made at a time.\n\n", r.versions, r.machine)
	b.WriteString("| `apply` | machines | time | bound | ratio | × Proxmox' own | requests a machine | failed tasks | provider's peak memory | its CPU |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, m := range r.made {
		bound := r.bound(m)
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %.2f | %.1f | %.1f | %d | %s | %s |\n", m.client.name, m.n, figures.Seconds(m.wall), figures.Seconds(bound), ratio(m.wall, bound),
			ratio(m.wall, r.times.Bound(m.n, 0)), float64(m.requests)/float64(m.n), m.failed, figures.Mebibytes(m.Memory), figures.Seconds(m.CPU))
	}
	b.WriteString("\n| `plan` with nothing to do | machines | time | requests | requests a machine | provider's peak memory | its CPU |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for _, m := range r.seen {
		fmt.Fprintf(&b, "| %s | %d | %s | %d | %.2f | %s | %s |\n", m.client.name, m.n, figures.Seconds(m.wall), m.requests, float64(m.requests)/float64(m.n), figures.Mebibytes(m.Memory), figures.Seconds(m.CPU))
	}
	b.WriteString("\n" + figures.Targets(r.targets()))
	return b.String()
}

// shorten writes what a hundred machines cost into the table of a page.
func (r *report) shorten(file string) (err error) {
	for _, m := range r.made {
		if m.n == 100 {
			err = errors.Join(err, figures.PutRow(file, m.client.short, fmt.Sprintf("%.1f s", m.wall.Seconds()), fmt.Sprintf("%.1f s", r.bound(m).Seconds()), fmt.Sprintf("%.1f a machine", float64(m.requests)/float64(m.n))))
		}
	}
	return err
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// targets hold what was measured against what it should be.
func (r *report) targets() (list []figures.Target) {
	for _, m := range r.made {
		if m.client.theirs {
			continue
		}
		at := fmt.Sprintf("%s, %d machines: ", m.client.name, m.n)
		most := 1.1
		if m.client.one {
			most = 1.2
		}
		list = append(list, figures.AtMost(at+"time", ratio(m.wall, r.bound(m)), most, "× the bound"), figures.AtMost(at+"failed tasks", float64(m.failed), 0, ""))
		if m.n >= 20 {
			list = append(list, figures.AtMost(at+"requests", float64(m.requests)/float64(m.n), 10, "a machine"))
		}
	}
	for _, m := range r.seen {
		if !m.client.theirs { // configs of up to 100 machines, those whose turn it is, and lists
			list = append(list, figures.AtMost(fmt.Sprintf("%s, plan of %d machines: requests", m.client.name, m.n), float64(m.requests), 175, ""))
		}
	}
	return list
}
