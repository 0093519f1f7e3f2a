package change

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// diffing is one call of diff.
type diffing struct{ change }

// NewDiff returns the command `proxplane diff`.
func NewDiff(u *ui.UI) *cobra.Command {
	d := &diffing{}
	cmd := &cobra.Command{
		Use:   "diff -f FILE|DIR|-",
		Short: "Show how machines differ from the manifests",
		Long: `Show the settings of machines that apply would change, as a unified diff: values in
Proxmox begin with -, those of the manifests with +. Nothing is changed. plan shows the
steps, why they are taken and what they mean for running machines.

An object that can't be compared or changed now is named with the reason. Steps that
aren't about settings (firewall, HA, snapshots) are comments.

The exit status is 0 if nothing differs, 2 if something does, and 1 on errors and if
something is blocked.`,
		Example: `  proxplane diff -f machines.yaml
  proxplane diff -f machines/ -l app=web
  proxplane diff -f machines.yaml --prune --set shop`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd, u) },
	}
	d.flags(cmd)
	_ = cmd.Flags().MarkHidden("output") // it is text
	_ = cmd.Flags().MarkHidden("quick")  // what is compared is read
	return cmd
}

func (d *diffing) run(cmd *cobra.Command, u *ui.UI) error {
	if d.output != "" {
		return ui.Advise(fmt.Errorf("-o %s: diff writes text only", d.output), "proxplane plan -o json is for programs.")
	}
	d.quick = false // what is compared is read
	list, err := d.open(cmd, u)
	if err != nil {
		return err
	}
	plans, err := d.plans(cmd.Context(), list)
	if err != nil {
		return err
	}
	differ := false
	for i, one := range list {
		one.Observer.View(func(have *model.Observed) {
			for _, o := range plans[i].Objects {
				differ = showDiff(u, o, have.Guests[o.VMID]) || differ
			}
		})
	}
	switch {
	case joined(plans).Blocked():
		return &ui.ExitError{Code: ui.ExitFailed}
	case differ:
		return &ui.ExitError{Code: ui.ExitChanges}
	}
	return nil
}

// showDiff writes what differs about an object, and reports whether something does.
func showDiff(u *ui.UI, o plan.Object, g *model.Guest) bool {
	lines := status.Diff(o, g)
	if len(lines) == 0 && len(o.Steps)+len(o.Refused) == 0 && o.Wait == nil {
		for _, n := range o.Notes {
			u.Say("# %s: %s", status.Name(o.Owner.Key), status.CLI.Note(n))
		}
		return false
	}
	page := u.Page(u.Out)
	name := status.Name(o.Owner.Key)
	was, is := "Proxmox", "manifests"
	switch {
	case g == nil && o.Wait != nil && o.Wait.Reason.Facts().Hidden:
		was = "unknown"
	case g == nil:
		was = "not there"
	}
	u.Say("%s\n%s", page.Bold("--- "+name+" ("+was+")"), page.Bold("+++ "+name+" ("+is+")"))
	for _, line := range lines {
		if strings.HasPrefix(line, "-") {
			line = page.Red(line)
		} else {
			line = page.Green(line)
		}
		u.Say("%s", line)
	}
	for _, line := range status.DiffComments(o, len(lines) == 0) {
		u.Say("# %s", line)
	}
	return true
}
