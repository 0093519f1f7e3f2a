package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/status"
)

// Report says what happens to machines, for people who wait.
type Report interface {
	// Doing reports what a machine does or waits for.
	Doing(machine, what string)
	// Done reports the end of an operation.
	Done(machine, what string)
}

// Work changes clusters.
type Work struct {
	Site   *site.Site
	In     Guests
	Report Report
	// Restart says that machines may be restarted, one by one, where a change of sizes takes that.
	Restart bool
	// Patience is the timeout of a machine's join; 0: half an hour.
	Patience time.Duration
}

const defaultPatience = 30 * time.Minute

func (w *Work) patience() time.Duration {
	if w.Patience > 0 {
		return w.Patience
	}
	return defaultPatience
}

// newToken is the secret by which machines join. It exists nowhere but in the machines.
func newToken() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// apply has Proxmox have what is wanted, and waits for it.
func (w *Work) apply(ctx context.Context, want model.Desired) error {
	report, err := w.Site.Apply(ctx, want, engine.Options{Events: w.event, Progress: true, Patience: w.patience()})
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var failed, waiting []error
	for _, o := range report.Objects {
		err := fmt.Errorf("%s: %s", o.Owner.Name, status.Cluster.Say(status.Text(o.Text, o.Diff), o.Do))
		switch o.State {
		case engine.StateReady, engine.StateGone:
		case engine.StateFailed:
			failed = append(failed, err)
		default:
			waiting = append(waiting, err)
		}
	}
	if len(failed) > 0 { // the others wait for these
		return errors.Join(failed...)
	}
	return errors.Join(waiting...)
}

// event reports what the engine does.
func (w *Work) event(e engine.Event) {
	switch e.Kind {
	case engine.Started:
		w.Report.Doing(e.Owner.Name, e.Step)
	case engine.Progress:
		if tenth := int(e.Fraction * 10); tenth > 0 {
			w.Report.Doing(e.Owner.Name, fmt.Sprintf("%s: %d %%", e.Step, tenth*10))
		}
	case engine.Waiting:
		w.Report.Doing(e.Owner.Name, status.Cluster.Waits(plan.Wait{Reason: e.Reason, Text: e.Text, Diff: e.Diff, Do: e.Hint}))
	case engine.Failed:
		w.Report.Doing(e.Owner.Name, fmt.Sprintf("%s failed: %s", e.Step, status.Text(e.Text, e.Diff)))
	}
}

// Plan returns what would be done in Proxmox for a file: changes of sizes with their effects.
// Everything is checked as for Init.
func (w *Work) Plan(ctx context.Context, f *File) (plan.Plan, Release, error) {
	c, err := Find(ctx, w.Site, w.In, f.Name)
	if err != nil && !errors.Is(err, ErrNoCluster) {
		return plan.Plan{}, Release{}, err
	}
	r, err := w.next(ctx, c, f)
	if err != nil {
		return plan.Plan{}, r.Release, err
	}
	wants := c.wanted(r, newToken())
	want, err := wants.desired(wants.nodes(c, NodesOf(f)))
	if err != nil {
		return plan.Plan{}, r.Release, err
	}
	want.Foresee, want.Allow = true, model.Allow{Restart: w.Restart}
	p, err := w.Site.Plan(ctx, want)
	return p, r.Release, err
}

// wanted is what is wanted of a cluster, given what there is of it.
func (c *Cluster) wanted(r Record, token string) *wanted {
	w := &wanted{file: r.File, record: r, token: token, hosts: c.hosts, release: map[string]Release{}, made: Made{Kept: map[string]bool{}}}
	for _, m := range c.Members {
		if m.Seeded {
			w.made.Kept[m.Name] = true
			w.release[m.Name] = m.Release
		}
		if m.First {
			w.made.First = m.Name
		}
	}
	return w
}

// nodes are machines as they are or are to be: one that is there has made the cluster or not, and a
// new one makes it only if nobody has.
func (w *wanted) nodes(c *Cluster, list []Node) []Node {
	out := slices.Clone(list)
	for i, n := range out {
		if at := slices.IndexFunc(c.Members, func(m Member) bool { return m.Name == n.Name && m.Seeded }); at >= 0 {
			out[i].First = c.Members[at].First
			continue
		}
		out[i].First = n.First && !slices.ContainsFunc(c.Members, func(m Member) bool { return m.Server() && m.Seeded })
	}
	return out
}

// makeNodes makes machines that are wanted together beside those that are there, and waits until they
// are nodes of the cluster.
func (w *Work) makeNodes(ctx context.Context, c *Cluster, r Record, token string, nodes []Node) (*Cluster, error) {
	var err error
	if r.File, err = c.secretsOf(ctx, r.File); err != nil {
		return c, err
	}
	if err := w.dropLost(ctx, c, nodes); err != nil {
		return c, err
	}
	wants := c.wanted(r, token)
	again := map[string]Release{}
	for _, n := range nodes {
		if m, err := c.Member(n.Name); err == nil && m.Seeded {
			again[n.Name] = r.Release
		}
	}
	all := []Node{}
	for _, m := range c.Members {
		if r.File.Pool(m.Pool) != nil && !m.Away && !slices.ContainsFunc(nodes, func(n Node) bool { return n.Name == m.Name }) {
			all = append(all, m.Node)
		}
	}
	want, err := wants.desired(append(all, wants.nodes(c, nodes)...))
	if err != nil {
		return c, err
	}
	if err := w.apply(ctx, want); err != nil {
		if now, found := w.madeMeanwhile(ctx, c); found {
			return w.makeNodes(ctx, now, r, token, nodes)
		}
		return c, err
	}
	knew := c
	if c, err = Find(ctx, w.Site, w.In, r.File.Name); err != nil {
		return c, err
	}
	for _, n := range nodes { // somebody may have destroyed the others meanwhile
		if knew.others(n) && !c.others(n) {
			return c, errAlone(n, c.Name)
		}
	}
	before := releasesOf(c)
	if err := w.awaitAll(ctx, c, nodes, expected{again: again}); err != nil || maps.Equal(before, releasesOf(c)) {
		return c, err
	}
	return w.writeRecord(ctx, c, r)
}

// madeMeanwhile finds a cluster whose first control plane somebody else has made at the same time, with another token:
// it is left as it is then.
func (w *Work) madeMeanwhile(ctx context.Context, c *Cluster) (*Cluster, bool) {
	if c.begun() || ctx.Err() != nil || w.Site.Observer().Refresh(ctx, 0) != nil {
		return nil, false
	}
	now, err := Find(ctx, w.Site, w.In, c.Name)
	return now, err == nil && now.begun()
}

// others reports whether a cluster has a control plane beside a machine.
func (c *Cluster) others(n Node) bool {
	return slices.ContainsFunc(c.Members, func(m Member) bool { return m.Server() && m.Name != n.Name })
}

// errAlone says that a machine has nobody to join any more.
func errAlone(n Node, cluster string) error {
	return fmt.Errorf("%s can't join: somebody has destroyed the control planes of %s; destroy what is left with: proxplane cluster destroy --cluster %[2]s", n.Name, cluster)
}

// releasesOf are the releases that machines have by their notes, or have installed since.
func releasesOf(c *Cluster) map[string]Release {
	out := map[string]Release{}
	for _, m := range c.Members {
		out[m.Name] = m.Release
	}
	return out
}

// pace is how often something in a machine is looked at: soon at first, then less and less, and never for
// more than half of the time. A machine in which a look takes long has other things to do.
type pace struct {
	wait time.Duration
	last time.Time // when the look began
}

// next waits for the next look.
func (p *pace) next(ctx context.Context) error {
	const first, most, longest = 200 * time.Millisecond, 5 * time.Second, 30 * time.Second
	if p.wait = p.wait * 3 / 2; p.wait == 0 {
		p.wait = first
	}
	p.wait = min(p.wait, most)
	rest := p.wait
	if !p.last.IsZero() {
		rest = max(rest, min(time.Since(p.last), longest))
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(rest):
		p.last = time.Now()
		return nil
	}
}

// oneLine keeps what a machine says short.
func oneLine(text string) string {
	const most = 160
	text = strings.TrimSpace(strings.ReplaceAll(lastLines(text, 1), "\t", " "))
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
