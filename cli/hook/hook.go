// Package hook has the commands that install the hook on Proxmox hosts.
package hook

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/host/hook"
)

// New returns the command `proxplane hook`.
func New(u *ui.UI) *cobra.Command {
	root := ""
	cmd := &cobra.Command{
		Use:   "hook VMID PHASE",
		Short: "Run as the hookscript of machines on a Proxmox host",
		Long: `Prepare a Proxmox host for a machine before it starts, and clean up after it has
stopped: put its Ignition file where QEMU reads it, share
directories by virtiofs, run further hookscripts.

Proxmox calls this program by itself when it is the hookscript of a machine,
whatever the name of the file. The requests of a machine are in its notes; root
decides in ` + hook.PolicyFile + ` which of them are allowed.
The phases are ` + strings.Join(hook.Phases, ", ") + `.`,
		Example: `  proxplane hook install --node pve1   put it on a host
  proxplane hook check 100             what would be done, and what is refused
  proxplane hook 100 pre-start         as Proxmox calls it`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			vmid, err := hook.ParseVMID(args[0])
			if err != nil {
				return command.NoSubcommand(cmd, args[0])
			}
			if len(args) != 2 || !slices.Contains(hook.Phases, args[1]) {
				return ui.Advise(fmt.Errorf("which phase of VM %d?", vmid), "Phases are "+strings.Join(hook.Phases, ", ")+".")
			}
			return thisHost(u, root).Run(cmd.Context(), vmid, args[1])
		},
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.PersistentFlags().StringVar(&root, "root", "", "`FOLDER` to take for / on this host; for tests")
	_ = cmd.MarkPersistentFlagDirname("root")
	cmd.AddCommand(newHookInstall(u), newHookUninstall(u), newHookCheck(u, &root))
	return cmd
}

// thisHost is the machine we are on.
func thisHost(u *ui.UI, root string) *hook.Host {
	return hook.This(u.Out, cmp.Or(root, u.Getenv(hook.RootVariable)))
}

func newHookCheck(u *ui.UI, root *string) *cobra.Command {
	return &cobra.Command{
		Use:   "check VMID",
		Short: "Show what a machine's hook would do",
		Long: `Show what the hook would do before the start of a machine, and what it would
refuse. Run it on the host that has the machine. Nothing is changed.`,
		Example: `  proxplane hook check 100`,
		Args:    command.Takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			vmid, err := hook.ParseVMID(args[0])
			if err != nil {
				return err
			}
			plan, err := thisHost(u, *root).Check(vmid)
			for _, line := range plan {
				u.Say("+ %s", line)
			}
			if err == nil && len(plan) == 0 {
				u.Say("VM %d asks for nothing.", vmid)
			}
			if err != nil {
				return ui.Advise(errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")), "Root decides in "+hook.PolicyFile+" on the host what machines may ask for.")
			}
			return nil
		},
	}
}
