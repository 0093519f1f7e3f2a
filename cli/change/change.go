// Package change has the commands that declare machines: plan, diff, apply, edit, delete, clone and
// release.
package change

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// change is what plan, apply and delete have in common: which manifests, and
// what may be done to make them so.
type change struct {
	target.Target
	target.Selection
	output  string
	allow   model.Allow
	prune   bool
	quick   bool
	most    string // --max-unavailable
	deleted bool   // all that the manifests name is to go
}

func (c *change) flags(cmd *cobra.Command) {
	c.Target.Flags(cmd, true)
	c.OutputFlag(cmd)
	c.SelectorFlag(cmd, "only machines with these `LABELS`, such as app=web or 'app in (web,db)', with what they need")
	fs := cmd.Flags()
	if c.deleted {
		return
	}
	fs.BoolVar(&c.prune, "prune", false, "remove machines, templates of images and snapshots that this --set made earlier and the manifests no longer name; the set must be named")
	fs.BoolVar(&c.allow.Restart, "allow-restart", false, "stop and start running machines where a change needs it")
	fs.BoolVar(&c.allow.Stop, "allow-stop", false, "stop machines at once that are to restart or shut down and ignore it")
	fs.BoolVar(&c.allow.Replace, "allow-replace", false, "destroy and recreate machines where a change needs it")
	fs.BoolVar(&c.allow.Data, "allow-data-loss", false, "remove disks that the manifests no longer name, and revert to snapshots")
	fs.BoolVar(&c.allow.Move, "allow-move", false, "migrate machines that are on nodes which their placement policies don't allow")
	fs.StringVar(&c.most, "max-unavailable", "", "restart or replace at most `N` machines at once, or a part such as 25%, the next ones when the former are ready again (default 1, or what updatePolicy.maxUnavailable says)")
	c.QuickFlag(cmd)
}

func (c *change) QuickFlag(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&c.quick, "quick", false, "rely on the cluster's list where it shows nothing to do: read no configs, power states and addresses")
	fs.Bool("deep", false, "read all configs, as is done anyway")
	_ = fs.MarkHidden("deep") // scripts of earlier times have it
}

func (c *change) OutputFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "`FORMAT`: json, for programs")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveNoFileComp))
}

// open connects to each Proxmox, with what is wanted of it.
func (c *change) open(cmd *cobra.Command, u *ui.UI) ([]*target.Site, error) {
	if c.prune && !cmd.Flags().Changed("set") {
		return nil, ui.Advise(errors.New("--prune removes what the manifests of a set no longer name, so the set must be named"),
			fmt.Sprintf("Give --set; without it, machines are of the set %q.", target.DefaultSet))
	}
	list, err := c.Sites(u)
	if err != nil {
		return nil, err
	}
	if list, err = c.narrowAll(u, list); err != nil {
		return nil, err
	}
	for _, one := range list {
		d := &one.Desired
		d.Prune, d.Allow, d.Quick = c.prune, c.allow, c.quick
		if c.deleted {
			d.Delete()
		}
	}
	return list, c.limit(list)
}

// limit bounds how many machines are restarted or replaced at once, on all clusters together.
// What the person says goes before what the manifests say of their machines; without either it
// is one.
func (c *change) limit(list []*target.Site) (err error) {
	limit, all := model.Limit{Count: 1}, 0
	if c.most != "" {
		if limit, err = model.ParseLimit(c.most); err != nil {
			return fmt.Errorf("--max-unavailable: %w", err)
		}
	}
	for _, one := range list {
		all += len(one.Desired.VMs)
	}
	for _, one := range list {
		for i := range one.Desired.VMs {
			of := &one.Desired.VMs[i].Rollout
			switch {
			case c.most != "":
				*of = model.Rollout{}
			case of.Max.Of(all) > limit.Of(all):
				limit = of.Max
			}
		}
	}
	for _, one := range list {
		one.Desired.MaxUnavailable = limit
	}
	return nil
}

// plans plans for all clusters at once.
func (c *change) plans(ctx context.Context, list []*target.Site) ([]plan.Plan, error) {
	out, errs := c.eachPlan(ctx, list)
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// eachPlan plans for all clusters at once; one that can't be asked keeps no other one
// back.
func (c *change) eachPlan(ctx context.Context, list []*target.Site) ([]plan.Plan, []error) {
	begun := time.Now()
	out, errs := make([]plan.Plan, len(list)), make([]error, len(list))
	var all sync.WaitGroup
	for i, one := range list {
		all.Go(func() {
			p, err := one.Site.Plan(ctx, one.Desired)
			out[i], errs[i] = p, one.Fail(err)
		})
	}
	all.Wait()
	if disrupting(list, out, errs) > 1 {
		return inTurn(ctx, list, begun)
	}
	return out, errs
}

// joined is all plans in one.
func joined(plans []plan.Plan) plan.Plan {
	var all plan.Plan
	for _, p := range plans {
		all.Objects, all.Notes = append(all.Objects, p.Objects...), append(all.Notes, p.Notes...)
	}
	return all
}

// mostAgents is how many guest agents are asked for a plan. Those of a node answer one after the other, and one
// that is down keeps a worker of its node busy for seconds.
const mostAgents = 100

// hear asks guest agents before it is said which machines are up to date, unless there are more than most of them.
// Machines whose agents weren't asked aren't called up to date.
func (c *change) hear(ctx context.Context, list []*target.Site, plans []plan.Plan, errs []error, most int) {
	if c.quick {
		return
	}
	few := len(joined(plans).Look().Agents) <= most
	var all sync.WaitGroup
	for i, one := range list {
		switch {
		case errs[i] != nil:
		case few:
			all.Go(func() { plans[i] = one.Hear(ctx, plans[i]) })
		default:
			plans[i] = unasked(plans[i])
		}
	}
	all.Wait()
}

// unasked is a plan for which guest agents weren't asked.
func unasked(p plan.Plan) plan.Plan {
	out := plan.Plan{Notes: p.Notes}
	for _, o := range p.Objects {
		if len(o.Look.Agents) > 0 {
			o.Look.Agents = nil
			o.Unasked = o.Ready()
		}
		out.Objects = append(out.Objects, o)
	}
	return out
}

// danger says which steps destroy, restart or lose something; empty: none.
func danger(all plan.Plan) string {
	counts := map[plan.Effect]int{}
	for _, o := range all.Objects {
		worst := plan.Effect("")
		for _, s := range o.Steps {
			switch s.Effect {
			case plan.LosesData, plan.Replace:
				worst = s.Effect
			case plan.Restart, plan.PowerOff:
				if worst == "" {
					worst = plan.Restart
				}
			}
		}
		counts[worst]++
	}
	var parts []string
	for _, d := range []struct {
		effect  plan.Effect
		one, of string
	}{
		{plan.LosesData, "1 object loses data or goes", "%d objects lose data or go"},
		{plan.Replace, "1 machine is destroyed and recreated", "%d machines are destroyed and recreated"},
		{plan.Restart, "1 machine stops or restarts", "%d machines stop or restart"},
	} {
		switch n := counts[d.effect]; {
		case n == 1:
			parts = append(parts, d.one)
		case n > 1:
			parts = append(parts, fmt.Sprintf(d.of, n))
		}
	}
	return strings.Join(parts, ", ")
}
