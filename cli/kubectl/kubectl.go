// Package kubectl has the plugins of kubectl, and the command that installs them.
package kubectl

import (
	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/change"
	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/doctor"
	"github.com/proxplane/proxplane/cli/hand"
	"github.com/proxplane/proxplane/cli/importer"
	"github.com/proxplane/proxplane/cli/inspect"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/cli/version"
	"github.com/proxplane/proxplane/status"
)

// The names under which kubectl finds its plugins: `kubectl proxplane` runs
// kubectl-proxplane, `kubectl create vmsnapshot` runs kubectl-create-vmsnapshot, and
// kubectl_complete-proxplane completes what is typed after `kubectl proxplane`.
const (
	PluginProxplane = "kubectl-proxplane"
	PluginSnapshot  = "kubectl-create-vmsnapshot"
	PluginComplete  = "kubectl_complete-proxplane"
)

var pluginNames = []string{PluginProxplane, PluginSnapshot, PluginComplete}

// NewPlugin returns the command `kubectl proxplane`.
func NewPlugin(u *ui.UI) *cobra.Command {
	n := &target.Namespace{}
	root := plugin(u, &cobra.Command{
		Use:   PluginProxplane,
		Short: "See what proxplane does about the objects of a namespace",
		Long: `See what proxplane does about the objects of a namespace, and why; create objects for
machines that exist already.

Where Proxmox is, and who we are there, is read from the namespace: from its
Provider and the Secret that this names. Who may not read the Secret logs in to
Proxmox as somebody else, with --token-id or --username. Nothing here needs the
operator to run.`,
		Example: `  kubectl proxplane plan
  kubectl proxplane describe vm/web-1 -n shop
  kubectl proxplane doctor
  kubectl proxplane console web-1 --serial
  kubectl proxplane import 104 105`,
	}, "kubectl proxplane")
	command.NeedsSubcommand(root)
	n.Flags(root.PersistentFlags())
	n.CompleteFlags(root)
	build := version.New()
	build.Example = "  kubectl proxplane version\n  kubectl proxplane version -o json"
	root.AddCommand(newPlan(u, n), newDescribe(u, n), newDoctor(u, n), newConsole(u, n), importer.NewKubectl(u, n), build)
	return root
}

// plugin makes a command the root of a plugin, which is called by another name than
// its own.
func plugin(u *ui.UI, root *cobra.Command, name string) *cobra.Command {
	u.Words = status.Kubernetes
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	root.SilenceUsage, root.SilenceErrors = true, true
	root.CompletionOptions = cobra.CompletionOptions{DisableDefaultCmd: true}
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return u.StartLog() }
	version.AddFlag(root)
	root.SetFlagErrorFunc(command.FlagError)
	root.SetUsageFunc(command.Usage)
	root.SetHelpFunc(command.Help)
	u.LogFlags(root.PersistentFlags())
	return root
}

func newPlan(u *ui.UI, n *target.Namespace) *cobra.Command {
	p := &change.Planning{}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what the operator does next, and why",
		Long: `Show what is to be done so that the objects of the namespace are up to date: each
step with what it does, why, and its effect. It is what the operator decides, too.
Nothing is changed.

Steps that restart, replace or lose data are refused unless the object's
updatePolicy allows them.`,
		Example: `  kubectl proxplane plan
  kubectl proxplane plan -n shop --all
  kubectl proxplane plan --detailed-exitcode || echo "drift, or error"
  kubectl proxplane plan -o json`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.In(cmd.Context(), n); err != nil {
				return err
			}
			return n.Conclude(u, p.Run(cmd, u))
		},
	}
	p.ConnectionFlags(cmd)
	p.OutputFlag(cmd)
	p.DisplayFlags(cmd)
	p.QuickFlag(cmd)
	return cmd
}

func newDescribe(u *ui.UI, n *target.Namespace) *cobra.Command {
	t := &target.Target{}
	cmd := &cobra.Command{
		Use:   "describe vm/NAME|image/NAME|snapshot/NAME|node/NAME",
		Short: "Show the details of one object, as Proxmox has it",
		Long: `Show the details of one object as Proxmox has it now: its settings, its addresses, what
it is waiting for, its last tasks, and whether it is up to date. kubectl describe shows
what the operator has done about an object.`,
		Example: `  kubectl proxplane describe vm/web-1
  kubectl proxplane describe image/ubuntu-22 -n shop
  kubectl proxplane describe snapshot/before-upgrade
  kubectl proxplane describe node/pve1`,
		Args:              command.Takes(1, 1),
		ValidArgsFunction: n.Complete("vm/", "VirtualMachine", "VMClone"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := t.In(cmd.Context(), n); err != nil {
				return err
			}
			n.About = args[0]
			return n.Explain(inspect.Describe(cmd.Context(), t, u, args[0]))
		},
	}
	t.ConnectionFlags(cmd)
	return cmd
}

func newDoctor(u *ui.UI, n *target.Namespace) *cobra.Command {
	f := &doctor.Flags{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check Proxmox, the credentials and what the objects need",
		Long: `Check whether Proxmox can be reached from here and is in good shape, and whether it
has what the objects of the namespace name: storages, bridges, templates, devices.

The doctor also computes the least privileges that the objects need over their
whole life, compares them with what the Provider's credentials have, and prints the
pveum commands that grant exactly that. Nothing is changed.

The exit status is 1 when something that is needed is missing.`,
		Example: `  kubectl proxplane doctor
  kubectl proxplane doctor -n shop --provider proxmox-prod
  kubectl proxplane doctor --print-commands --pve-user ops@pve --pve-token proxplane
  kubectl proxplane doctor -o json`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.In(cmd.Context(), n); err != nil {
				return err
			}
			return n.Conclude(u, f.Run(cmd.Context(), u))
		},
	}
	f.ConnectionFlags(cmd)
	f.AddTo(cmd, "pve-user", "pve-token")
	return cmd
}

func newConsole(u *ui.UI, n *target.Namespace) *cobra.Command {
	o := &hand.Console{}
	cmd := &cobra.Command{
		Use:   "console VM",
		Short: "Open the console of a machine",
		Long: `Print the URL of a machine's console in Proxmox' web interface. With --serial,
attach this terminal to the machine's serial console; Ctrl-] or Ctrl-O leaves it.`,
		Example: `  kubectl proxplane console web-1
  kubectl proxplane console web-1 -n shop --serial
  kubectl proxplane console web-1 --serial --port serial1`,
		Args:              command.Takes(1, 1),
		ValidArgsFunction: n.Complete("", "VirtualMachine", "VMClone"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.In(cmd.Context(), n); err != nil {
				return err
			}
			n.About = args[0]
			return n.Explain(o.Run(cmd.Context(), u, args[0]))
		},
	}
	o.ConnectionFlags(cmd)
	o.Flags(cmd)
	return cmd
}
