package world

import (
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"
)

// Times are how long things take in the world, and where.
type Times struct {
	nodes                                                                 int
	request, fetch, create, template, clone, config, resize, start, agent time.Duration
}

// TimesOf reads them from a world.
func TimesOf(world []byte) (Times, error) {
	var w struct {
		Nodes  []struct{}
		Timing struct{ Request, Download, Create, Template, Clone, Link, Config, Resize, Start, Boot, Agent string }
	}
	if err := yaml.Unmarshal(world, &w); err != nil {
		return Times{}, err
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
	t := Times{
		nodes: len(w.Nodes), request: d(w.Timing.Request), fetch: d(w.Timing.Download), create: d(w.Timing.Create), template: d(w.Timing.Template), clone: d(w.Timing.Clone) + d(w.Timing.Link), config: d(w.Timing.Config),
		resize: d(w.Timing.Resize), start: d(w.Timing.Start), agent: max(d(w.Timing.Boot), d(w.Timing.Agent)),
	}
	if t.nodes == 0 {
		errs = append(errs, errors.New("no nodes"))
	}
	return t, errors.Join(errs...)
}

// Requests are the fewest that a machine can be made with: clone, config,
// resize, start, and the question for its address.
const Requests = 5

// Bound is the time that no client can beat: the last clone of the fullest node
// ends after so many rounds, and what a machine needs after its clone is done one
// after the other.
func (t Times) Bound(n, places int) time.Duration {
	onNode := (n + t.nodes - 1) / t.nodes
	rounds := 1
	if places > 0 {
		rounds = (onNode + places - 1) / places
	}
	return time.Duration(rounds)*t.clone + t.config + t.resize + t.start + t.agent + Requests*t.request
}

// Image is the time that no client can beat for an image with a URL: all nodes fetch it at once, make a VM of it,
// and a template of that.
func (t Times) Image() time.Duration {
	const requests = 3
	return t.fetch + t.create + t.template + requests*t.request
}

// Parallel is the time that no client can beat that works on so few machines at a time.
func (t Times) Parallel(n, workers int) time.Duration {
	return time.Duration((n+workers-1)/workers) * t.Bound(1, 0)
}

// Header says them to those who read a table.
func (t Times) Header() string {
	return fmt.Sprintf("%d nodes, each with a template on local storage; a request %v, clone %v, config %v, resize %v, start %v, agent %v after the start;\n"+
		"to fetch an image %v, to make a VM from it %v, to make that a template %v.\n"+
		"Client and simulator are processes of their own and speak TLS over loopback.\n",
		t.nodes, t.request, t.clone, t.config, t.resize, t.start, t.agent, t.fetch, t.create, t.template)
}
