package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// waitFor are the states that can be waited for.
var waitFor = []string{"ready", "off", "gone", "address"}

// awaiting is one call of wait.
type awaiting struct {
	target.Target
	target.Selection
	state   string
	timeout time.Duration
	seen    map[string]int  // VMIDs of the machines that were there, by name
	missed  map[string]bool // names that no machine had when each was asked for its own
}

// NewWait returns the command `proxplane wait`.
func NewWait(u *ui.UI) *cobra.Command {
	w := &awaiting{seen: map[string]int{}, missed: map[string]bool{}}
	cmd := &cobra.Command{
		Use:   "wait vm/NAME…|-l LABELS --for ready|off|gone|address",
		Short: "Wait until machines are ready, off or gone",
		Long: `Wait until machines are in a state:

  ready     runs, isn't locked, and its guest agent, if it has one, has
            reported an address; with the manifests (-f): is up to date
  off       is stopped
  gone      no longer exists
  address   its guest agent has reported an address

The exit status is 0 when all machines are in that state, and 1 when the time is over.`,
		Example: `  proxplane wait vm/web-1 --for ready
  proxplane wait vm/web-1 vm/web-2 --for address --timeout 2m
  proxplane wait vm/web-1 --for ready -f machines.yaml
  proxplane wait -f machines.yaml -l app=web --for ready
  proxplane wait vm/old --for gone`,
		Args:              w.TakesNames,
		ValidArgsFunction: w.CompleteKinds(u, "vm"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(waitFor, w.state) {
				return fmt.Errorf("--for %s: there are %s", w.state, strings.Join(waitFor, ", "))
			}
			c, err := w.Site(u, args...)
			if err != nil {
				return err
			}
			ctx, cancel := ui.WithTimeout(cmd.Context(), w.timeout)
			defer cancel()
			names, err := w.Chosen(ctx, c, args)
			if err != nil {
				return err
			}
			return w.run(ctx, u, c, names)
		},
	}
	w.Flags(cmd, false)
	w.SelectorFlag(cmd, target.SelectedUsage)
	cmd.Flags().StringVar(&w.state, "for", "ready", "`STATE`: "+strings.Join(waitFor, ", "))
	cmd.Flags().DurationVar(&w.timeout, "timeout", 5*time.Minute, "how long to wait; a `TIME`, 0 for ever")
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(waitFor, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// Pauses between looks.
const (
	waitFirst = 500 * time.Millisecond
	waitMost  = 3 * time.Second
)

func (w *awaiting) run(ctx context.Context, u *ui.UI, c *target.Site, names []string) error {
	left := slices.Clone(names)
	why := map[string]string{}
	away := outage{u: u}
	first := true
	for pause := waitFirst; ; pause = min(pause*3/2, waitMost) {
		var err error
		left, err = w.round(ctx, u, c, left, why)
		switch {
		case err == nil && len(left) == 0:
			return nil
		case err == nil:
			away.over()
			first = false
		case first || ctx.Err() != nil || !away.bears(err):
			return w.late(ctx, err, left, why)
		}
		select {
		case <-ctx.Done():
			return w.late(ctx, context.Cause(ctx), left, why)
		case <-time.After(pause):
		}
	}
}

// round looks at each machine once, and returns those that aren't so yet.
func (w *awaiting) round(ctx context.Context, u *ui.UI, c *target.Site, names []string, why map[string]string) (left []string, err error) {
	have, err := c.Look(ctx)
	if err != nil {
		return names, err
	}
	for i, name := range names {
		done, text, err := w.check(ctx, c, have, name)
		switch {
		case err != nil:
			return append(left, names[i:]...), err
		case done:
			u.Say("✓ vm/%s  %s", target.Bare(name), text)
		default:
			if why[name] != text {
				u.Note("vm/%s: %s", target.Bare(name), text)
			}
			why[name] = text
			left = append(left, name)
		}
	}
	return left, nil
}

// late says what was still waited for when the time was over, also when that ended a
// look.
func (w *awaiting) late(ctx context.Context, err error, left []string, why map[string]string) error {
	var late *ui.TimeoutError
	if !errors.As(context.Cause(ctx), &late) {
		return err
	}
	var do []string
	for _, name := range left {
		do = append(do, fmt.Sprintf("vm/%s: %s", target.Bare(name), cmp.Or(why[name], "Proxmox hadn't answered by then")))
	}
	missing := "not " + w.state
	if w.state == "address" {
		missing = "no address"
	}
	return ui.Advise(fmt.Errorf("%s after %s", missing, w.timeout), do...)
}

// asPlanned reports whether the manifests say what is waited for.
func (w *awaiting) asPlanned(c *target.Site) bool {
	return len(c.Desired.VMs) > 0 && w.state != "address" && w.state != "off"
}

// check reports whether a machine is so, or what is missing.
func (w *awaiting) check(ctx context.Context, c *target.Site, have *model.Observed, name string) (bool, string, error) {
	if w.asPlanned(c) {
		return w.checkWanted(ctx, c, name)
	}
	g, err := w.find(ctx, c, have, name)
	switch {
	case err != nil && !errors.Is(err, target.ErrNoGuest):
		return false, "", err
	case w.state == "gone" && g == nil:
		return w.provedGone(ctx, c, name)
	case w.state == "gone":
		w.seen[name] = g.VMID
		return stillThere(g)
	case err != nil:
		return false, err.Error(), nil //nolint:nilerr // it may still be made
	}
	return w.checkGuest(ctx, c, g)
}

// find finds a machine by its name: one of the manifests by its owner, others by the cluster's list. What the list says is a
// status round old, so it is proved before a machine is taken for another one, or for gone.
func (w *awaiting) find(ctx context.Context, c *target.Site, have *model.Observed, name string) (*model.Guest, error) {
	if c.Declared(name) {
		return c.Guest(ctx, name)
	}
	g, err := target.FindGuest(have, name)
	if g != nil {
		if err := c.Observer.Status(ctx, g.VMID); err != nil {
			return nil, c.Fail(err)
		}
		if now := c.Observer.Snapshot().Guests[g.VMID]; now != nil && now.Name == g.Name {
			return now, nil
		}
	}
	absent := errors.Is(err, target.ErrNoGuest)
	switch {
	case err != nil && !absent:
		return nil, err
	case absent && w.missed[name] && w.state != "gone":
		return nil, err // one that is made later is found once lists have it
	}
	g, err = c.Guest(ctx, name)
	w.missed[name] = errors.Is(err, target.ErrNoGuest)
	return g, err
}

func stillThere(g *model.Guest) (bool, string, error) {
	return false, fmt.Sprintf("VM %d is still there, %s on %s", g.VMID, g.Status, g.Node), nil
}

func (w *awaiting) checkWanted(ctx context.Context, c *target.Site, name string) (bool, string, error) {
	o, err := c.ObjectOf(ctx, name, target.IsVM)
	if err != nil {
		return false, "", err
	}
	if w.state == "gone" {
		return w.wantedGone(ctx, c, o)
	}
	out := status.CLI.Of(o)
	return out.State == model.StateReady, out.Message, nil
}

func (w *awaiting) checkGuest(ctx context.Context, c *target.Site, g *model.Guest) (bool, string, error) {
	running := g.Status == model.StatusRunning
	switch {
	case w.state == "off":
		return g.Status == model.StatusStopped && (g.Lock == "" || g.Hibernated()), isNow(g), nil
	case g.Hibernated():
		return false, isNow(g), nil
	case g.Lock != "":
		return false, fmt.Sprintf("is locked (%s)", g.Lock), nil
	case !running:
		return false, fmt.Sprintf("is %s", g.Status), nil
	}
	return w.checkAddress(ctx, c, g)
}

// isNow says what a guest is.
func isNow(g *model.Guest) string {
	switch {
	case g.Hibernated():
		return "is suspended to disk"
	case g.Lock != "":
		return fmt.Sprintf("is %s, and locked (%s)", g.Status, g.Lock)
	}
	return fmt.Sprintf("is %s", g.Status)
}

// checkAddress asks the guest's agent, if there is to be one.
func (w *awaiting) checkAddress(ctx context.Context, c *target.Site, g *model.Guest) (bool, string, error) {
	if g.Config == nil {
		if err := c.Observer.Config(ctx, g.VMID); err != nil {
			return false, "", c.Fail(err)
		}
		if g = c.Observer.Snapshot().Guests[g.VMID]; g == nil || g.Config == nil {
			return false, "its config changes", nil
		}
	}
	if !model.AgentOn(g.Config.Options) {
		if w.state == "address" {
			return false, "", fmt.Errorf("VM %d has no guest agent in its config, so its address isn't known", g.VMID)
		}
		return true, "running", nil
	}
	c.AskAddresses(ctx, []*model.Guest{g})
	if g = c.Observer.Snapshot().Guests[g.VMID]; g == nil || len(g.Addresses) == 0 {
		return false, "runs, and its guest agent hasn't reported an address yet", nil
	}
	return true, strings.Join(status.Addresses(g.Addresses), ", "), nil
}
