package change

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// Planning is one call of plan.
type Planning struct {
	change
	detailed, all bool
}

// NewPlan returns the command `proxplane plan`.
func NewPlan(u *ui.UI) *cobra.Command {
	p := &Planning{}
	cmd := &cobra.Command{
		Use:   "plan -f FILE|DIR|-",
		Short: "Show what apply would do, and why",
		Long: `Show what apply would do, grouped by object: each step with what it does, why, and
its effect. Nothing is changed.

  +  makes something new
  ~  changes something while it runs
  !  stops or restarts something, or was refused
  -  removes something, or loses data
  …  can't be done yet; what follows is planned as if it could
  ✗  can't be done until somebody changes something

Steps that restart, replace or lose data are refused unless a flag or the
manifest's updatePolicy allows them.

The exit status is 1 if something can't be done by waiting: an unknown storage,
a VMID that is taken, more CPUs than any node has, a privilege that is missing.

Each machine's config is read, and from its node whether it runs, so that changes
made by hand show, too. Guest agents are asked for the addresses that are waited for,
of at most 100 machines. With --quick, machines that are up to date by the cluster's
list aren't read: that is quicker for thousands of them, and up to ten seconds late.
Machines of which not all was read are counted as not verified.

With -o FILE (a name with a dot or a slash) the plan is saved, too: "proxplane apply
FILE" does exactly that, without asking, and only if the manifests and the machines
are still as the plan saw them. The file holds no secrets.`,
		Example: `  proxplane plan -f machines.yaml
  proxplane plan -f base/ -f machines/ --allow-restart
  proxplane plan -f machines/ --prune --set shop
  proxplane plan -f machines.yaml --detailed-exitcode || echo "drift, or error"
  proxplane plan -f machines.yaml -o json
  proxplane plan -f machines.yaml -o change.plan && proxplane apply change.plan`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.Run(cmd, u) },
	}
	p.flags(cmd)
	p.planOutput(cmd)
	p.DisplayFlags(cmd)
	cmd.Flags().BoolVar(&p.deleted, "delete", false, "show what delete would do")
	return cmd
}

// planOutput says what -o takes here: more than elsewhere.
func (p *Planning) planOutput(cmd *cobra.Command) {
	cmd.Flag("output").Usage = "`FORMAT`: json, yaml or name; or a file to save the plan in, such as change.plan"
}

func (p *Planning) DisplayFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.detailed, "detailed-exitcode", false, "exit with 2 if there is anything to do or to wait for, 0 if not, 1 on errors and if something is blocked")
	cmd.Flags().BoolVar(&p.all, "all", false, "also show what is up to date")
}

func (p *Planning) Run(cmd *cobra.Command, u *ui.UI) error {
	if !isFile(p.output) || p.Objects != nil {
		if err := command.CheckOutput(p.output, planFormats...); err != nil {
			return err
		}
	} else if slices.Contains(p.Files, "-") {
		return ui.Advise(errors.New("a saved plan names its manifests, and those from the standard input can't be read again"), "Put them into a file.")
	}
	list, err := p.open(cmd, u)
	if err != nil {
		return err
	}
	plans, errs := p.eachPlan(cmd.Context(), list)
	p.hear(cmd.Context(), list, plans, errs, mostAgents)
	if len(list) == 1 && errs[0] != nil {
		return errs[0]
	}
	if err := p.write(u, list, plans, errs); err != nil {
		return err
	}
	if !slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		p.mentionUnnamed(cmd.Context(), u, list)
	}
	failed := false
	for i, err := range errs {
		if err != nil {
			fmt.Fprintf(u.Err, "%s\n\n", u.Page(u.Err).Bold("provider/"+list[i].Provider.Name))
			u.Complain(err)
			failed = true
		}
	}
	switch {
	case failed, joined(plans).Blocked():
		return &ui.ExitError{Code: ui.ExitFailed}
	case p.detailed && !joined(plans).Ready():
		return &ui.ExitError{Code: ui.ExitChanges}
	}
	return nil
}

// planFormats are what plan can write, beside its text.
var planFormats = []string{"json", "yaml", "name"}

// write writes the plans in the format that was asked for.
func (p *Planning) write(u *ui.UI, list []*target.Site, plans []plan.Plan, errs []error) error {
	view := p.view(plans, u.Words)
	switch p.output {
	case "json":
		return ui.WriteJSON(u.Out, view)
	case "yaml":
		b, err := yaml.Marshal(view)
		if err == nil {
			_, err = u.Out.Write(b)
		}
		return err
	case "name":
		for _, o := range joined(plans).Objects {
			if !o.Ready() || p.all {
				u.Say("%s", status.Name(o.Owner.Key))
			}
		}
		return nil
	}
	if err := showPlans(u, list, plans, errs, p.all); err != nil {
		return err
	}
	for i, line := range ui.HintLines(grants(list, plans), u.Page(u.Out).Width) {
		if i == 0 {
			u.Say("")
		}
		u.Say("%s", strings.TrimPrefix(line, "    "))
	}
	if p.output == "" {
		return nil
	}
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return nil // only whole plans are saved
	}
	if err := p.save(p.output, list, plans); err != nil {
		return err
	}
	u.Say("\nSaved. To do exactly that: proxplane apply %s", p.output)
	return nil
}

// view is plans for machines.
func (c *change) view(plans []plan.Plan, words status.Words) status.PlanView {
	all := joined(plans)
	v := words.ViewOf(all)
	v.NotRead = status.NotReadOf(all, c.quick)
	return v
}

// showPlans prints the plan of each cluster that has one; all: also what is up to date.
func showPlans(u *ui.UI, list []*target.Site, plans []plan.Plan, errs []error, all bool) error {
	page := u.Page(u.Out)
	page.All = all
	if parts(list).together() {
		list, plans, errs = list[:1], []plan.Plan{joined(plans)}, errs[:1]
	}
	for i, p := range plans {
		if errs[i] != nil {
			continue
		}
		if len(list) > 1 {
			fmt.Fprintf(u.Out, "%s\n\n", page.Bold("provider/"+list[i].Provider.Name))
		}
		if _, err := io.WriteString(u.Out, page.Plan(p)+page.NotRead(p, list[i].Desired.Quick)); err != nil {
			return err
		}
	}
	return nil
}
