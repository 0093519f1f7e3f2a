package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/proxplane/proxplane/test/bench/figures"
)

// report is all that was measured.
type report struct {
	settings
	made, deleted, madeMany cost
	failed                  int
	alone, amid             time.Duration // deletions
	unfinished              int           // machines, when these were over
	kept, found             cost          // at rest
	start                   cost          // of an operator beside all machines, until the end
	targets                 []figures.Target
}

func (r *report) String() string {
	var b strings.Builder
	b.WriteString("| | machines | time | requests to Proxmox each | of these writes | requests to Kubernetes each | peak memory | CPU |\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	line := func(what string, n int, c cost) {
		each := func(v float64) string { return fmt.Sprintf("%.1f", v/float64(n)) }
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s | %s |\n", what, n, figures.Seconds(c.wall), each(c.asked), each(c.changed), each(c.kubeAsked),
			figures.Mebibytes(c.Peak), figures.Seconds(c.CPU))
	}
	line("created", r.some, r.made)
	line("deleted", r.some, r.deleted)
	if r.many > 0 {
		line("created", r.many, r.madeMany)
		b.WriteString("\n| at rest | machines | for | requests to Proxmox a minute | requests to Kubernetes a minute | memory | CPU |\n|---|---:|---:|---:|---:|---:|---:|\n")
		rest := func(what string, c cost) {
			fmt.Fprintf(&b, "| %s | %d | %s | %.1f | %.1f | %s | %s |\n", what, r.many, figures.Seconds(c.wall), minutely(c.asked, c), minutely(c.kubeAsked, c),
				figures.Mebibytes(c.Resident), figures.Seconds(c.CPU))
		}
		rest("the operator that has made them", r.kept)
		rest("one that was started beside them", r.found)
	}
	fmt.Fprintf(&b, "\nTo delete a machine takes %s when nothing else happens, and %s amid %d new ones, of which %d weren't ready when it was over.\n\n",
		figures.Seconds(r.alone), figures.Seconds(r.amid), r.some, r.unfinished)
	r.targets = r.judge()
	b.WriteString(figures.Targets(r.targets))
	return b.String()
}

func minutely(n float64, c cost) float64 { return n / c.wall.Minutes() }

// judge holds what was measured against what it should be.
func (r *report) judge() []figures.Target {
	// Proxmox itself makes a removal wait for the clones that its storage is busy with.
	list := []figures.Target{
		figures.AtMost(fmt.Sprintf("a deletion amid %d new machines", r.some), r.amid.Seconds()/r.alone.Seconds(), 6, "× a deletion alone"),
	}
	if r.many == 0 {
		return list
	}
	n := fmt.Sprintf("%d machines at rest: ", r.many)
	const mebi = 1 << 20
	return append(list,
		figures.AtMost(n+"memory", float64(max(r.kept.Resident, r.found.Resident))/mebi, 512, "MiB"),
		figures.AtMost(n+"requests to Proxmox a minute", max(minutely(r.kept.asked, r.kept), minutely(r.found.asked, r.found)), 60, ""),
		figures.AtMost(n+"writes to Kubernetes a minute", max(minutely(r.kept.kubeWrote, r.kept), minutely(r.found.kubeWrote, r.found)), verifications, ""),
	)
}
