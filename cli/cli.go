// Package cli is the command line: it parses flags, calls the other packages, and prints
// results for people.
//
// Results go to the standard output: plans, progress, tables. Questions, notes, logs and
// errors go to the standard error, so that output can be piped on.
package cli

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/change"
	"github.com/proxplane/proxplane/cli/cluster"
	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/doctor"
	"github.com/proxplane/proxplane/cli/hand"
	"github.com/proxplane/proxplane/cli/hook"
	"github.com/proxplane/proxplane/cli/importer"
	"github.com/proxplane/proxplane/cli/inspect"
	"github.com/proxplane/proxplane/cli/kinds"
	"github.com/proxplane/proxplane/cli/kubectl"
	"github.com/proxplane/proxplane/cli/loadtest"
	"github.com/proxplane/proxplane/cli/migrate"
	"github.com/proxplane/proxplane/cli/setup"
	"github.com/proxplane/proxplane/cli/simulator"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/cli/version"
)

// Main runs the command line and returns the exit status. Ending ctx is what
// Ctrl-C does.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return Execute(ctx, ui.New(stdin, stdout, stderr), args)
}

// Execute runs the command line for a UI that is there already.
func Execute(ctx context.Context, u *ui.UI, args []string) int { return u.Run(ctx, newRoot(u), args) }

// Groups of commands in the help text.
const (
	groupWanted = "wanted"
	groupLook   = "look"
	groupDo     = "do"
	groupOther  = "other"
)

func newRoot(u *ui.UI) *cobra.Command {
	root := &cobra.Command{
		Use:   "proxplane",
		Short: "The control plane for Proxmox VE",
		Long: `proxplane is a control plane for Proxmox VE: you declare machines in YAML manifests,
and it creates them and keeps them that way.

Where Proxmox is comes from a Provider in the manifests, from PVE_ENDPOINT and other
environment variables, or from a context that "proxplane init" sets up. There is no
state file: Proxmox is the state. Every command can be interrupted and run again at
any moment.`,
		Example: `  proxplane demo                     see it work, on a simulated Proxmox
  proxplane plan -f machines.yaml    what would be done, and why
  proxplane apply -f machines.yaml   do it
  proxplane get vms                  list machines
  proxplane describe vm/web-1        show one in detail`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := command.CheckTimeout(cmd); err != nil {
				return err
			}
			return u.StartLog()
		},
	}
	command.NeedsSubcommand(root)
	version.AddFlag(root)
	root.SetFlagErrorFunc(command.FlagError)
	root.SetUsageFunc(command.Usage)
	root.SetHelpFunc(command.Help)
	u.LogFlags(root.PersistentFlags())
	root.AddGroup(
		&cobra.Group{ID: groupWanted, Title: "Declare machines:"},
		&cobra.Group{ID: groupLook, Title: "Inspect:"},
		&cobra.Group{ID: groupDo, Title: "Act by hand:"},
		&cobra.Group{ID: groupOther, Title: "Other commands:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupWanted, setup.NewInit(u), kinds.NewValidate(u), change.NewPlan(u), change.NewDiff(u), change.NewApply(u), change.NewEdit(u), change.NewDelete(u), kinds.NewExplain(u), kinds.NewSchema(u))
	examine := doctor.New(u)
	examine.AddCommand(newMachinesDoctor(u), cluster.NewDoctor(u))
	add(groupLook, inspect.NewGet(u), inspect.NewDescribe(u), inspect.NewTop(u), inspect.NewEvents(u), inspect.NewLogs(u), inspect.NewWait(u), examine)
	add(groupDo, hand.NewPower(u), hand.NewSnapshot(u), change.NewClone(u), change.NewMove(u), change.NewDrain(u), change.NewUndrain(u), hand.NewConsole(u), hand.NewSSH(u), importer.New(u), change.NewRelease(u))
	add(groupOther, setup.NewContext(u), newOperator(u), cluster.New(u), kubectl.New(u), migrate.New(u), hook.New(u), simulator.New(), simulator.NewDemo(newRoot), loadtest.New(u), version.New(), newCompletion(), newMan())
	root.SetHelpCommand(newHelp())
	return root
}

// newHelp is the command that shows the help of another one.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the help of a command",
		Example: "  proxplane help apply\n  proxplane help snapshot create",
		Hidden:  true, // --help does the same
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return command.NoSubcommand(about, args[len(args)-max(1, len(rest))])
			}
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			about, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, c := range about.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// Run runs the program under the name by which it was called, the first of argv: it
// is also the plugins of kubectl. It returns the exit status, as [Main] does.
func Run(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	u, args := ui.New(stdin, stdout, stderr), argv[1:]
	switch strings.TrimSuffix(filepath.Base(argv[0]), ".exe") {
	case kubectl.PluginProxplane:
		return u.Run(ctx, kubectl.NewPlugin(u), args)
	case kubectl.PluginSnapshot:
		return u.Run(ctx, kubectl.NewCreateSnapshot(u), args)
	case kubectl.PluginComplete:
		return u.Run(ctx, kubectl.NewPlugin(u), append([]string{cobra.ShellCompRequestCmd}, args...))
	}
	return Execute(ctx, u, args)
}
