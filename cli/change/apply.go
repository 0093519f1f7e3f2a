package change

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// applying is how a change is made.
type applying struct {
	change
	yes      bool
	parallel int
	timeout  time.Duration
	agreed   []plan.Agreement // of each cluster

	saved     *savedPlan // the plan that is to be done; nil: whatever is planned now
	savedFile string
	released  map[model.Owner]int
	spent     time.Duration // of the timeout, without the time that people took to answer
}

// work returns a context that ends with the timeout; done ends it, and puts an error into words that says that nothing was begun.
func (a *applying) work(ctx context.Context) (bounded context.Context, done func(error) error) {
	begun := time.Now()
	bounded, cancel := ui.WithRest(ctx, a.timeout, a.spent)
	return bounded, func(err error) error {
		err = ui.TooEarly(bounded, err)
		cancel()
		a.spent += time.Since(begun)
		return err
	}
}

func (a *applying) flags(cmd *cobra.Command) {
	a.change.flags(cmd)
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "don't ask before something is destroyed, restarted or loses data")
	a.paceFlags(cmd)
}

// paceFlags are about how much is done at once, and how long it may take.
func (a *applying) paceFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.IntVar(&a.parallel, "parallel", 0, "work on at most `N` objects at once (default: as many as Proxmox takes)")
	fs.DurationVar(&a.timeout, "timeout", 0, "give up after this `TIME`, such as 10m (default: when nothing more can be done)")
}

// NewApply returns the command `proxplane apply`.
func NewApply(u *ui.UI) *cobra.Command {
	a := &applying{}
	cmd := &cobra.Command{
		Use:   "apply -f FILE|DIR|- | PLAN",
		Short: "Create and change what the manifests declare",
		Long: `Create and change what the manifests declare: show the plan, ask before anything is
destroyed, restarted or loses data, carry the plan out, and wait until everything is
up to date. If more than the plan showed turns out to be destroyed, restarted or lost,
ask again.

A PLAN that "proxplane plan -o FILE" has saved is done without asking, and only if
the manifests and the machines are still as it saw them.

It can be interrupted at any moment: tasks go on in Proxmox, and running apply
again continues. The exit status is 0 only if everything is up to date.`,
		Example: `  proxplane apply -f machines.yaml
  proxplane apply -f machines/ --yes --timeout 10m
  cat machines.yaml | proxplane apply -f - --yes
  proxplane apply -f machines.yaml --allow-restart
  proxplane apply -f machines/ --set shop --prune
  proxplane apply -f machines.yaml -l app=web
  proxplane apply -f machines.yaml -o json
  proxplane plan -f machines.yaml -o change.plan && proxplane apply change.plan`,
		Args: command.Takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if err := a.loadPlan(cmd, args[0]); err != nil {
					return err
				}
			}
			return a.run(cmd, u)
		},
	}
	a.flags(cmd)
	return cmd
}

func (a *applying) run(cmd *cobra.Command, u *ui.UI) error {
	if err := errors.Join(a.check(), command.CheckOutput(a.output, "json")); err != nil {
		return err
	}
	list, err := a.open(cmd, u)
	if err != nil {
		return err
	}
	return a.carryOut(cmd.Context(), u, list)
}

// check finds what no flag can be.
func (a *applying) check() error {
	if a.parallel < 0 {
		return fmt.Errorf("--parallel %d: want a number from 1 on", a.parallel)
	}
	return nil
}

// carryOut plans, shows the plan, asks, and does it. When something comes up that
// wasn't in the plan and hurts, it does so again.
func (a *applying) carryOut(ctx context.Context, u *ui.UI, list []*target.Site) error {
	var before *results
	for {
		working, done := a.work(ctx)
		plans, err := a.plans(working, list)
		if err == nil {
			a.hearAll(working, list, plans)
		}
		if err := done(err); err != nil {
			return err
		}
		if err := a.show(u, list, plans); err != nil {
			return err
		}
		if before == nil {
			working, done := a.work(ctx)
			a.mentionUnnamed(working, u, list)
			_ = done(nil) // nothing that is needed
		}
		all := joined(plans)
		if a.saved != nil && before == nil {
			if err := a.saved.holds(a.savedFile, list, plans); err != nil {
				return err
			}
		}
		if all.Ready() {
			return a.nothing(u, list, plans)
		}
		switch err := u.Agree(ctx, a.yes || a.saved != nil && before == nil, danger(all)); {
		case errors.Is(err, ui.ErrDeclined) && before != nil:
			return a.conclude(u, list, *before)
		case err != nil:
			return err
		}
		a.agree(plans)
		if a.output == "" {
			fmt.Fprintln(u.Out)
		}
		came, err := a.converge(ctx, u, list, plans)
		if err != nil {
			return err
		}
		if !came.late() || !u.Asks() {
			return a.conclude(u, list, came)
		}
		before = &came
		if a.output == "" {
			u.Say("\nThere is more to do than the plan said:\n")
		}
	}
}

// hearAll asks guest agents: all of them, before it is said that there is nothing to do.
func (a *applying) hearAll(ctx context.Context, list []*target.Site, plans []plan.Plan) {
	most := mostAgents
	if joined(plans).Unchanged() {
		most = math.MaxInt
	}
	a.hear(ctx, list, plans, make([]error, len(list)), most)
}

// agree notes that somebody has seen the plans and wants them done.
func (a *applying) agree(plans []plan.Plan) {
	if a.agreed == nil {
		a.agreed = make([]plan.Agreement, len(plans))
	}
	for i, p := range plans {
		a.agreed[i].Allow = a.allow
		a.agreed[i].Add(p)
		a.noteReleased(p)
	}
}

// noteReleased notes which machines stay in Proxmox when they are proxplane's no more.
func (a *applying) noteReleased(p plan.Plan) {
	for _, o := range p.Objects {
		for _, s := range o.Steps {
			if r, ok := s.Action.(model.Release); ok {
				if a.released == nil {
					a.released = map[model.Owner]int{}
				}
				a.released[o.Owner] = r.VMID
			}
		}
	}
}

// show prints the plan before it is done.
func (a *applying) show(u *ui.UI, list []*target.Site, plans []plan.Plan) error {
	if a.output == "json" {
		return ui.WriteLine(u.Out, struct {
			Type string `json:"type"`
			status.PlanView
		}{"plan", a.view(plans, u.Words)})
	}
	return showPlans(u, list, plans, make([]error, len(list)), false)
}

// nothing ends an apply that has nothing to do.
func (a *applying) nothing(u *ui.UI, list []*target.Site, plans []plan.Plan) error {
	if a.output != "json" {
		return nil
	}
	sum := summaryLine{Type: "summary", Converged: true, VMs: []status.VM{}}
	for i, p := range plans {
		have := list[i].Observer.Snapshot()
		for _, o := range p.Objects {
			if target.IsVM(o.Owner.Kind) {
				sum.VMs = append(sum.VMs, status.Wanted(have.Guests[o.VMID], o))
			}
		}
	}
	return ui.WriteLine(u.Out, sum)
}
