// Package cli is the command line: it reads flags, calls what does the work
// and tells people what came of it.
//
// What happens goes to the standard output: plans, progress, tables. Questions,
// notes, logs and errors go to the standard error, so that output can be piped
// on.
package cli

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// Main runs the command line and returns the exit status. Ending ctx is what
// Ctrl-C does.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return Execute(ctx, newUI(stdin, stdout, stderr), args)
}

// Execute runs the command line for a UI that is there already.
func Execute(ctx context.Context, u *ui, args []string) int { return u.run(ctx, newRoot(u), args) }

// Groups of commands in the help text.
const (
	groupWanted = "wanted"
	groupLook   = "look"
	groupDo     = "do"
	groupOther  = "other"
)

func newRoot(u *ui) *cobra.Command {
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
		PersistentPreRunE: func(*cobra.Command, []string) error { return u.startLog() },
	}
	needsCommand(root)
	versionFlag(root)
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(usage)
	root.SetHelpFunc(help)
	u.logFlags(root.PersistentFlags())
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
	add(groupWanted, newInit(u), newValidate(u), newPlan(u), newDiff(u), newApply(u), newEdit(u), newDelete(u), newExplain(u), newSchema(u))
	add(groupLook, newGet(u), newDescribe(u), newTop(u), newEvents(u), newLogs(u), newWait(u), newDoctor(u))
	add(groupDo, newPower(u), newSnapshot(u), newClone(u), newConsole(u), newSSH(u), newImport(u), newRelease(u))
	add(groupOther, newContext(u), newOperator(u), newKubectl(u), newHook(u), newSim(), newDemo(newRoot), newLoadtest(u), newVersion(), newCompletion(), newMan())
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
				return noCommand(about, args[len(args)-max(1, len(rest))])
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
	u, args := newUI(stdin, stdout, stderr), argv[1:]
	switch strings.TrimSuffix(filepath.Base(argv[0]), ".exe") {
	case pluginProxplane:
		return u.run(ctx, newKubectlProxplane(u), args)
	case pluginSnapshot:
		return u.run(ctx, newKubectlSnapshot(u), args)
	case pluginComplete:
		return u.run(ctx, newKubectlProxplane(u), append([]string{cobra.ShellCompRequestCmd}, args...))
	}
	return Execute(ctx, u, args)
}
