package main

import (
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"
)

// times are how long things take in the world, and where.
type times struct {
	nodes                                        int
	request, clone, config, resize, start, agent time.Duration
}

func timesOf(world []byte) (times, error) {
	var w struct {
		Nodes  []struct{}
		Timing struct{ Request, Clone, Link, Config, Resize, Start, Boot, Agent string }
	}
	if err := yaml.Unmarshal(world, &w); err != nil {
		return times{}, err
	}
	var errs []error
	d := func(text string) time.Duration {
		if text == "" {
			return 0
		}
		v, err := time.ParseDuration(text)
		errs = append(errs, err)
		return v
	}
	t := times{
		nodes: len(w.Nodes), request: d(w.Timing.Request), clone: d(w.Timing.Clone) + d(w.Timing.Link), config: d(w.Timing.Config),
		resize: d(w.Timing.Resize), start: d(w.Timing.Start), agent: max(d(w.Timing.Boot), d(w.Timing.Agent)),
	}
	if t.nodes == 0 {
		errs = append(errs, errors.New("no nodes"))
	}
	return t, errors.Join(errs...)
}

// requests are the fewest that a machine can be made with: clone, config,
// resize, start, and the question for its address.
const requests = 5

// bound is the time that no client can beat: the last clone of the fullest node
// ends after so many rounds, and what a machine needs after its clone is done one
// after the other.
func (t times) bound(n, places int) time.Duration {
	onNode := (n + t.nodes - 1) / t.nodes
	rounds := 1
	if places > 0 {
		rounds = (onNode + places - 1) / places
	}
	return time.Duration(rounds)*t.clone + t.config + t.resize + t.start + t.agent + requests*t.request
}

func (t times) header() string {
	return fmt.Sprintf("%d nodes, each with a template on local storage; a request %v, clone %v, config %v, resize %v, start %v, agent %v after the start.\n"+
		"Client and simulator are processes of their own and speak TLS over loopback.\n",
		t.nodes, t.request, t.clone, t.config, t.resize, t.start, t.agent)
}
