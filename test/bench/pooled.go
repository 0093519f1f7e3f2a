package main

import (
	"context"
	"fmt"

	"github.com/proxplane/proxplane/test/bench/figures"
)

// pooled is what machines with addresses from a pool cost, beside those that get theirs by DHCP.
type pooled struct {
	n          int
	with, dhcp *result
}

// pooled measures machines with addresses from a pool.
func (r *report) pooled(ctx context.Context, dhcp *result, n, places int) (*pooled, error) {
	b := &bench{settings: r.settings, dir: r.dir, world: r.world, n: n, places: places, pooled: true}
	best, err := b.best(ctx)
	if err != nil {
		return nil, err
	}
	p := &pooled{n: n, with: best, dhcp: dhcp}
	r.targets = append(r.targets, p.targets()...)
	return p, nil
}

// more is how many requests a machine takes more.
func (p *pooled) more() float64 { return float64(p.with.Requests-p.dhcp.Requests) / float64(p.n) }

func (p *pooled) table() string {
	row := func(what string, r *result) string {
		return fmt.Sprintf("| %s | %s | %d | %d | %d |\n", what, figures.Seconds(r.Wall), r.Requests, r.Writes, len(r.failed))
	}
	return fmt.Sprintf("\n| %d machines with addresses | time | requests | writes | failed tasks |\n|---|---:|---:|---:|---:|\n", p.n) +
		row("by DHCP", p.dhcp) + row("from a pool", p.with) + fmt.Sprintf("| more a machine | | %.2f | | |\n", p.more())
}

func (p *pooled) targets() []figures.Target {
	at := func(what string) string { return fmt.Sprintf("%d machines with addresses from a pool: %s", p.n, what) }
	return []figures.Target{
		figures.AtMost(at("requests more"), p.more(), 0.5, "a machine"),
		figures.AtMost(at("writes more"), float64(p.with.Writes-p.dhcp.Writes), 0, ""),
		figures.AtMost(at("failed tasks"), float64(len(p.with.failed)), 0, ""),
	}
}
