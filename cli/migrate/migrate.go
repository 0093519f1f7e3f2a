// Package migrate has the commands for people who come from other providers of Terraform.
package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/spec/export"
	"github.com/proxplane/proxplane/status"
)

// New returns the command `proxplane tf`.
func New(u *ui.UI) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "tf",
		Short:   "Move machines of other Terraform providers to proxplane's",
		Long:    "Move machines of other Terraform providers to proxplane's, which is terraform-provider-proxplane.",
		Example: "  proxplane tf migrate terraform.tfstate --set shop > proxplane.tf",
	}
	command.NeedsSubcommand(cmd)
	cmd.AddCommand(newMigrate(u))
	return cmd
}

// migration is one call of tf migrate.
type migration struct{ target.Target }

func newMigrate(u *ui.UI) *cobra.Command {
	m := &migration{}
	cmd := &cobra.Command{
		Use:   "migrate STATE|FOLDER",
		Short: "Write resources for machines of bpg/proxmox and Telmate/proxmox",
		Long: `Read which machines the providers bpg/proxmox and Telmate/proxmox have made, look
at them in Proxmox, and write resources of proxplane's provider for them to the
standard output: with an import block for each machine, and removed blocks, so that
nothing is destroyed or made anew. Nothing is changed, neither in Proxmox nor in the
state.

STATE is a state file, what "terraform show -json" prints, or - for the standard
input. FOLDER has the configuration (*.tf) instead, for those who lost the state:
machines are found by the VMIDs and names in it.

What isn't carried over is named in comments. Then take the old resources out of the
configuration, but not the block of their provider, add what was written, and plan: it
imports machines, changes only whose they are, and destroys nothing.`,
		Example: `  proxplane tf migrate terraform.tfstate --set shop > proxplane.tf
  terraform show -json | proxplane tf migrate - --set shop > proxplane.tf
  proxplane tf migrate ./shop --set shop > proxplane.tf`,
		Args: command.Takes(1, 1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkSet(m.Set, cmd.Flags().Changed("set")); err != nil {
				return err
			}
			return m.run(cmd.Context(), u, args[0])
		},
	}
	m.Flags(cmd, false)
	return cmd
}

// checkSet checks the name that the machines are known by.
func checkSet(set string, given bool) error {
	switch {
	case !given:
		return ui.Advise(errors.New("the set has no name"), "Name what the configuration makes: --set shop. Machines are known by it, so every configuration has its own.")
	case export.Name(set) != set:
		return fmt.Errorf("--set %s: want small letters, digits and hyphens", set)
	}
	return nil
}

func (m *migration) run(ctx context.Context, u *ui.UI, source string) error {
	f, err := read(u, source)
	if err != nil {
		return fmt.Errorf("read %s: %w", called(source), err)
	}
	if len(f.machines) == 0 {
		return ui.Advise(fmt.Errorf("%s has no machines of bpg/proxmox or Telmate/proxmox", called(source)), "Give the state that has them: terraform show -json")
	}
	c, err := m.Site(u)
	if err != nil {
		return err
	}
	taken, left, err := m.take(ctx, c, f.machines)
	if err != nil {
		return err
	}
	file := hclwrite.NewEmptyFile()
	head(file.Body(), m.Set, c.Connection, lookBeside(source))
	changed := 0
	for _, g := range groupsOf(taken) {
		g.write(file.Body())
	}
	for _, t := range taken {
		changed += min(1, len(t.changes))
	}
	removed(file.Body(), taken, left)
	rest(file.Body(), left, f.others)
	if _, err := u.Out.Write(append(bytes.TrimRight(hclwrite.Format(file.Bytes()), "\n"), '\n')); err != nil {
		return err
	}
	return verdict(u, len(taken), len(left), changed)
}

// verdict says how far it went.
func verdict(u *ui.UI, taken, left, changed int) error {
	if left > 0 {
		u.Note("%s: see the comments at the end", status.Count(left, "machine isn't taken over", "machines aren't taken over"))
	}
	if changed > 0 {
		u.Note("%s as it is: see the comments", status.Count(changed, "machine can't be described", "machines can't be described"))
	}
	if left > 0 || changed > 0 {
		return &ui.ExitError{Code: ui.ExitFailed}
	}
	u.Note("%s. Take the old resources out of the configuration, then plan.", status.Count(taken, "machine is taken over", "machines are taken over"))
	return nil
}

// read reads what another provider has made: from a folder, a file, or the standard input.
func read(u *ui.UI, source string) (found, error) {
	if source == "-" {
		data, err := io.ReadAll(u.In)
		if err != nil {
			return found{}, err
		}
		return readState(data)
	}
	info, err := os.Stat(source)
	if err == nil && (info.IsDir() || strings.HasSuffix(source, ".tf")) {
		return readConfig(source)
	}
	data, err := os.ReadFile(source)
	if err != nil {
		return found{}, errors.Unwrap(err)
	}
	return readState(data)
}

func called(source string) string {
	if source == "-" {
		return "the standard input"
	}
	return source
}

// take looks at machines in Proxmox. Those that can't be taken over are left.
func (m *migration) take(ctx context.Context, c *target.Site, list []theirs) (taken []machine, left []theirs, err error) {
	have, err := c.Look(ctx)
	if err != nil {
		return nil, nil, err
	}
	var there []theirs
	var ids []int
	for _, t := range list {
		if t.trouble == "" && t.guestOf(have) != nil {
			there, ids = append(there, t), append(ids, t.vmid)
			continue
		}
		left = append(left, t)
	}
	if err := c.Fail(c.Observer.Examine(ctx, ids...)); err != nil {
		return nil, nil, err
	}
	have = c.Observer.Snapshot()
	var names []string
	for _, t := range there {
		if have.Guests[t.vmid] == nil || have.Guests[t.vmid].Config == nil {
			t.trouble = fmt.Sprintf("VM %d can't be read", t.vmid)
			left = append(left, t)
			continue
		}
		one, err := draw(have, t, m.Set, &names)
		if err != nil {
			t.trouble = err.Error()
			left = append(left, t)
			continue
		}
		taken = append(taken, one)
	}
	return taken, left, nil
}
