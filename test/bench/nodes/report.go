package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/test/bench/figures"
	"github.com/proxplane/proxplane/test/bench/world"
)

// report is all that was measured.
type report struct {
	settings
	passes  []*pass
	resting float64 // requests a minute
}

// pass is what was measured in one world.
type pass struct {
	yaml      []byte
	one, many figure
}

// linkTime is how long a clone takes in a world.
var linkTime = regexp.MustCompile(`\blink: [^,}]+`)

// slower is a world whose clones take as long.
func slower(yaml []byte, clone time.Duration) []byte {
	return linkTime.ReplaceAll(yaml, []byte("link: "+clone.String()))
}

// bootTimes are how long a guest takes from its start in a world.
var bootTimes = regexp.MustCompile(`\bboot: [^,}]+, agent: [^,}]+`)

// load is how Proxmox' daemons behave: see PVE::Daemon, pvestatd and the guest agent's socket.
const load = "\nload: {workers: 3, agentWait: 3s, statusRound: 10s}\n"

// lifelike is a world whose guests take as long from their start until a kubelet and the guest agent run in them, as real ones with a cloud image do,
// and whose Proxmox is as busy with requests as a real one.
func lifelike(yaml []byte, boot time.Duration) []byte {
	return append(bootTimes.ReplaceAll(yaml, fmt.Appendf(nil, "boot: %s, agent: %[1]s", boot)), load...)
}

// bound is what nobody can be quicker than: Proxmox' own time for so many machines, and what one takes beside that.
func (s *pass) bound() time.Duration {
	times, err := world.TimesOf(s.yaml)
	if err != nil {
		panic(err) // the world is part of the program
	}
	return times.Bound(s.many.nodes, 0) + max(0, s.one.wall-times.Bound(1, 0))
}

func (s *pass) ratio() float64 { return s.many.wall.Seconds() / s.bound().Seconds() }

// clone is how long a clone takes in the world, in words.
func (s *pass) clone() string { return strings.TrimPrefix(string(linkTime.Find(s.yaml)), "link: ") }

func (r *report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "A guest takes %s from its start until its kubelet and its guest agent run.\n\n", r.boot)
	b.WriteString("| a clone takes | nodes | time | bound | ratio | requests to Proxmox each | and afterwards | operator's peak memory |\n|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, s := range r.passes {
		fmt.Fprintf(&b, "| %s | 1 | %s | | | %.1f | | %s |\n", s.clone(), figures.Seconds(s.one.wall), each(s.one), figures.Mebibytes(s.one.peak))
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %.2f | %.1f | %.1f | %s |\n", s.clone(), s.many.nodes, figures.Seconds(s.many.wall), figures.Seconds(s.bound()), s.ratio(), each(s.many),
			float64(s.many.after)/float64(s.many.nodes), figures.Mebibytes(s.many.peak))
	}
	b.WriteString("\n" + r.cpus())
	if r.list {
		fmt.Fprintf(&b, "\nRequests to Proxmox, and to Kubernetes by all programs:\n\n%s\n%s", listed(r.passes[0].many.kinds), listed(r.passes[0].many.served))
	}
	if r.resting > 0 {
		fmt.Fprintf(&b, "\nWith %d nodes at rest, Proxmox is asked %.1f times a minute (virtual time).\n", r.rest, r.resting)
	}
	b.WriteString("\n" + figures.Targets(r.targets()))
	return b.String()
}

// cpus says what all programs on the machine have used for many nodes: they share its CPUs, so that nobody is quicker than these allow.
func (r *report) cpus() string {
	var b strings.Builder
	b.WriteString("| CPU time of |")
	for _, s := range r.passes {
		fmt.Fprintf(&b, " %d nodes, clones of %s |", s.many.nodes, s.clone())
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(r.passes)) + "\n")
	for _, name := range slices.Sorted(maps.Keys(r.passes[0].many.cpu)) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, s := range r.passes {
			fmt.Fprintf(&b, " %s |", figures.Seconds(s.many.cpu[name]))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "| all, on each of %d CPUs |", runtime.NumCPU())
	for _, s := range r.passes {
		var all time.Duration
		for _, used := range s.many.cpu {
			all += used
		}
		fmt.Fprintf(&b, " %s |", figures.Seconds(all/time.Duration(runtime.NumCPU())))
	}
	return b.String() + "\n"
}

// listed lists the requests by their kinds.
func listed(kinds map[string]int) string {
	var b strings.Builder
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), func(a, b string) int { return cmp.Or(kinds[b]-kinds[a], cmp.Compare(a, b)) }) {
		if kinds[kind] > 0 {
			fmt.Fprintf(&b, "    %5d %s\n", kinds[kind], kind)
		}
	}
	return b.String()
}

func each(f figure) float64 { return float64(f.requests) / float64(f.nodes) }

// targets holds what was measured against what it should be.
func (r *report) targets() (list []figures.Target) {
	what := map[string]string{"karpenter": "pending Pods to all bound", "machines": "replicas from 0 to joined"}[r.door]
	for _, s := range r.passes {
		list = append(list, figures.AtMost(fmt.Sprintf("%d %s, clones of %s", r.n, what, s.clone()), s.ratio(), 1.2, "× the bound"))
	}
	if r.door == "machines" {
		const most = 9
		return append(list, figures.AtMost("requests to Proxmox a machine", each(r.passes[0].many), most, ""))
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
