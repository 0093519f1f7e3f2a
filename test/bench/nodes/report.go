package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/test/bench/figures"
	"github.com/proxplane/proxplane/test/bench/world"
)

// report is all that was measured.
type report struct {
	settings
	one, many figure
	resting   float64 // requests a minute
}

// bound is what nobody can be quicker than: Proxmox' own time for so many machines, and what one takes beside that.
func (r *report) bound() (time.Duration, error) {
	times, err := world.TimesOf(world.YAML)
	if err != nil {
		return 0, err
	}
	return times.Bound(r.n, 0) + max(0, r.one.wall-times.Bound(1, 0)), nil
}

func (r *report) String() string {
	var b strings.Builder
	b.WriteString("| nodes | time | requests to Proxmox each | peak memory | CPU |\n|---:|---:|---:|---:|---:|\n")
	for _, f := range []figure{r.one, r.many} {
		fmt.Fprintf(&b, "| %d | %s | %.1f | %s | %s |\n", f.nodes, figures.Seconds(f.wall), each(f), figures.Mebibytes(f.peak), figures.Seconds(f.cpu))
	}
	if r.resting > 0 {
		fmt.Fprintf(&b, "\nWith %d nodes at rest, Proxmox is asked %.1f times a minute (virtual time).\n", r.rest, r.resting)
	}
	b.WriteString("\n" + figures.Targets(r.targets()))
	return b.String()
}

func each(f figure) float64 { return float64(f.requests) / float64(f.nodes) }

// targets holds what was measured against what it should be.
func (r *report) targets() []figures.Target {
	bound, err := r.bound()
	if err != nil {
		panic(err) // the world is part of the program
	}
	what := map[string]string{"karpenter": "pending Pods to all bound", "machines": "replicas from 0 to joined"}[r.door]
	list := []figures.Target{figures.AtMost(fmt.Sprintf("%d %s", r.n, what), r.many.wall.Seconds()/bound.Seconds(), 1.2, "× the bound")}
	if r.door == "machines" {
		const most = 9
		return append(list, figures.AtMost("requests to Proxmox a machine", each(r.many), most, ""))
	}
	if r.resting > 0 {
		const most = 12
		list = append(list, figures.AtMost(fmt.Sprintf("requests to Proxmox a minute, %d nodes at rest", r.rest), r.resting, most, ""))
	}
	return list
}

// restFigure is what the test says.
var restFigure = regexp.MustCompile(`requests a minute at rest: .* ([0-9.]+) with \d+\n`)

// atRest measures in virtual time, by a test of package karpenter.
func (r *report) atRest(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-timeout=1h", "-run=^TestRequestsAtRestDontGrowWithNodes$", "./karpenter", "-args", "-rest", strconv.Itoa(r.rest))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	found := restFigure.FindStringSubmatch(string(out))
	if found == nil {
		return fmt.Errorf("nodes at rest: %w\n%s", err, out)
	}
	r.resting, err = strconv.ParseFloat(found[1], 64)
	return err
}
