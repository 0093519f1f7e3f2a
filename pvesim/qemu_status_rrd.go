package pvesim

import (
	"maps"
	"slices"
	"time"
)

// rrdSteps are resolution and number of points of each time frame.
var rrdSteps = map[string]struct {
	step  time.Duration
	count int
}{
	"hour": {time.Minute, 60}, "day": {time.Minute, 1440}, "week": {30 * time.Minute, 336},
	"month": {30 * time.Minute, 1440}, "year": {6 * time.Hour, 1440},
}

// oldRRDSteps are those of releases before 9.
var oldRRDSteps = map[string]struct {
	step  time.Duration
	count int
}{
	"hour": {time.Minute, 60}, "day": {30 * time.Minute, 70}, "week": {3 * time.Hour, 70},
	"month": {12 * time.Hour, 70}, "year": {7 * 24 * time.Hour, 70},
}

// getRRDData gives the VM's figures over time. No history is kept: all
// points since the VM's start show what it shows now.
func getRRDData(c *call) (any, error) {
	steps := rrdSteps
	if !c.atLeast(9) {
		steps = oldRRDSteps
	}
	frame := steps[c.params.Str("timeframe")]
	points := []map[string]any{}
	vm := c.state.VMs[c.params.Int("vmid")]
	if vm == nil || vm.Node != c.node() { // figures of nobody are no error
		return points, nil
	}
	status := c.vmStatus(vm, false)
	now := map[string]any{"maxcpu": status["cpus"]}
	for _, key := range []string{"cpu", "mem", "maxmem", "disk", "maxdisk", "netin", "netout"} {
		now[key] = status[key]
	}
	now["diskread"], now["diskwrite"] = 0, 0
	if c.atLeast(9) {
		for key, value := range status {
			if key == "memhost" || len(key) > 8 && key[:8] == "pressure" {
				now[key] = value
			}
		}
	}
	for at := c.now().Truncate(frame.step); len(points) < frame.count; at = at.Add(-frame.step) {
		point := map[string]any{"time": at.Unix()}
		if vm.Run != nil && !at.Before(vm.Run.Started) {
			maps.Copy(point, now)
		}
		points = append(points, point)
	}
	slices.Reverse(points)
	return points, nil
}
