package setup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/contexts"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/status"
)

// NewContext returns the command `proxplane context`.
func NewContext(u *ui.UI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "context COMMAND",
		Short: "Manage the Proxmox clusters that you work with",
		Long: `Manage contexts: named Proxmox clusters, each with its endpoints, its login and whom
to trust. The current context is used where no flag, no Provider in the manifests
and no PVE_ENDPOINT says which Proxmox is meant.

Contexts are in ~/.config/proxplane/config.yaml, or where PROXPLANE_CONFIG says.
That file holds no secrets: it names the files that hold them, which nobody else
may be able to read.`,
		Example: `  proxplane context add lab --endpoint https://pve.example.com:8006 --token-id 'proxplane@pve!laptop' --token-file ~/.pve-token
  proxplane context list
  proxplane context use lab
  proxplane get vms --context lab`,
	}
	command.NeedsSubcommand(cmd)
	cmd.AddCommand(newContextList(u), newContextUse(u), newContextShow(u), newContextAdd(u), newContextRemove(u))
	return cmd
}

// contextRow is a context in -o json. It has no secrets.
type contextRow struct {
	*contexts.Entry
	Current bool `json:"current"`
}

func newContextList(u *ui.UI) *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the contexts",
		Long:  "List the contexts, with whom each logs in as, and which is the current one.",
		Example: `  proxplane context list
  proxplane context list -o name`,
		Args: command.TakesNothing,
		RunE: func(*cobra.Command, []string) error {
			if err := command.CheckOutput(output, "json", "name"); err != nil {
				return err
			}
			all, err := contexts.Read(u)
			if err != nil {
				return err
			}
			return listContexts(all, u, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FORMAT`: json or name")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "name"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func listContexts(c *contexts.File, u *ui.UI, output string) error {
	rows := []contextRow{}
	t := status.Table{Columns: []status.Column{{Name: "NAME"}, {Name: "ENDPOINT", Flex: true}, {Name: "LOGIN"}, {Name: "CURRENT"}}}
	for _, s := range c.All {
		rows = append(rows, contextRow{s, s.Name == c.Current})
		current := ""
		if s.Name == c.Current {
			current = "yes"
		}
		t.Rows = append(t.Rows, []string{s.Name, strings.Join(s.Endpoints, ","), s.Who(), current})
	}
	switch {
	case output == "json":
		return ui.WriteJSON(u.Out, rows)
	case output == "name":
		for _, name := range c.Names() {
			u.Say("%s", name)
		}
		return nil
	case len(rows) == 0:
		fmt.Fprintf(u.Err, "There are no contexts in %s. proxplane init creates the first one.\n", c.Path)
		return nil
	}
	_, err := io.WriteString(u.Out, t.Text(u.Layout(false)))
	return err
}

func newContextUse(u *ui.UI) *cobra.Command {
	return &cobra.Command{
		Use:               "use NAME",
		Short:             "Make a context the current one",
		Long:              "Make a context the current one: commands use it where nothing else says which Proxmox is meant.",
		Example:           `  proxplane context use lab`,
		Args:              command.Takes(1, 1),
		ValidArgsFunction: contexts.Complete,
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := contexts.Read(u)
			if err != nil {
				return err
			}
			s, err := all.Find(args[0])
			if err != nil {
				return err
			}
			all.Current = s.Name
			if err := all.Write(); err != nil {
				return err
			}
			u.Say("Current context: %s (%s).", s.Name, strings.Join(s.Endpoints, ", "))
			if e := overriding(u); e != "" {
				u.Note("%s is set in the environment, and comes before the current context", e)
			}
			return nil
		},
	}
}

// overriding is the variable that comes before the current context; empty: none is
// set.
func overriding(u *ui.UI) string {
	for _, name := range []string{"PROXPLANE_CONTEXT", "PVE_ENDPOINT", "PROXMOX_VE_ENDPOINT"} {
		if u.Getenv(name) != "" {
			return name
		}
	}
	return ""
}

func newContextShow(u *ui.UI) *cobra.Command {
	return &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show a context, or what is used now and why",
		Long: `Show a context. Without a name: which Proxmox commands use now that have neither
manifests with a Provider nor flags, and what decides that.`,
		Example: `  proxplane context show
  proxplane context show lab`,
		Args:              command.Takes(0, 1),
		ValidArgsFunction: contexts.Complete,
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := contexts.Read(u)
			if err != nil {
				return err
			}
			name := all.Current
			switch e := overriding(u); {
			case len(args) > 0:
				name = args[0]
			case e == "PROXPLANE_CONTEXT":
				name = u.Getenv(e)
				u.Say("PROXPLANE_CONTEXT names the context %s.", name)
			case e != "":
				u.Say("The environment is used: %s is set to %s.", e, u.Getenv(e))
				return nil
			case name == "":
				return ui.Advise(errors.New("no context is the current one, and the environment names no Proxmox"), "proxplane context use NAME chooses one, proxplane init makes one.")
			default:
				u.Say("The current context is %s, of %s.", name, all.Path)
			}
			s, err := all.Find(name)
			if err != nil {
				return err
			}
			showContext(s, u)
			return nil
		},
	}
}

func showContext(s *contexts.Entry, u *ui.UI) {
	line := func(label, value string) {
		if value != "" {
			u.Say("%-15s%s", label+":", value)
		}
	}
	line("Name", s.Name)
	line("Endpoints", strings.Join(s.Endpoints, ", "))
	line("Token", s.TokenID)
	line("Token file", s.Path(s.TokenFile))
	line("User", s.Username)
	line("Password file", s.Path(s.PasswordFile))
	line("CA file", s.Path(s.CAFile))
	line("Fingerprints", strings.Join(s.Fingerprints, ", "))
	if s.Insecure {
		line("Certificate", "not verified")
	}
}

func newContextAdd(u *ui.UI) *cobra.Command {
	t, use := &target.Target{}, false
	cmd := &cobra.Command{
		Use:   "add NAME --endpoint URL",
		Short: "Add a context, or change one",
		Long: `Add a context, or replace the one of that name. It names the file with the secret,
which nobody else may be able to read (mode 0600); without one, the secret comes
from PVE_TOKEN_SECRET or PVE_PASSWORD, or is asked for each time. The first context
becomes the current one.`,
		Example: `  proxplane context add lab --endpoint https://pve.example.com:8006 --token-id 'proxplane@pve!laptop' --token-file ~/.pve-token
  proxplane context add home --endpoint https://192.168.1.10:8006 --username root@pam --use`,
		Args: command.Takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return addContext(t, u, args[0], use) },
	}
	t.ConnectionFlags(cmd)
	_ = cmd.Flags().MarkHidden("provider") // of manifests
	cmd.Flags().BoolVar(&use, "use", false, "make it the current context")
	return cmd
}

func addContext(t *target.Target, u *ui.UI, name string, use bool) error {
	if len(t.Endpoints) == 0 {
		return ui.Advise(errors.New("a context needs an endpoint"), "Give --endpoint, such as https://pve.example.com:8006.")
	}
	if t.TokenID != "" && t.Username != "" {
		return errors.New("--token-id and --username: one of them is enough")
	}
	s := &contexts.Entry{
		Name: name, Endpoints: t.Endpoints, TokenID: t.TokenID, TokenFile: t.TokenFile, Username: t.Username, PasswordFile: t.PasswordFile,
		CAFile: t.CAFile, Fingerprints: t.Fingerprints, Insecure: t.Insecure,
	}
	for _, file := range []*string{&s.TokenFile, &s.PasswordFile, &s.CAFile} {
		if *file == "" {
			continue
		}
		if _, err := os.Stat(*file); err != nil {
			return manifest.NotRead(*file, err)
		}
		whole, err := filepath.Abs(*file)
		if err != nil {
			return err
		}
		*file = whole
	}
	if _, err := s.Credentials(); err != nil {
		return err
	}
	all, err := contexts.Read(u)
	if err != nil {
		return err
	}
	all.Put(s)
	if use || all.Current == "" {
		all.Current = name
	}
	if err := all.Write(); err != nil {
		return err
	}
	u.Say("Context %s saved in %s.", name, all.Path)
	if all.Current == name {
		u.Say("It is the current context; proxplane doctor checks it.")
	}
	return nil
}

func newContextRemove(u *ui.UI) *cobra.Command {
	return &cobra.Command{
		Use:               "remove NAME…",
		Short:             "Remove contexts",
		Long:              "Remove contexts. The files with their secrets, and the clusters, stay as they are.",
		Example:           `  proxplane context remove lab`,
		Aliases:           []string{"rm"},
		Args:              command.Takes(1, 0),
		ValidArgsFunction: contexts.Complete,
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := contexts.Read(u)
			if err != nil {
				return err
			}
			for _, name := range args {
				s, err := all.Find(name)
				if err != nil {
					return err
				}
				all.Remove(name)
				for _, file := range []string{s.TokenFile, s.PasswordFile} {
					if file != "" {
						u.Note("the secret is still in %s", s.Path(file))
					}
				}
			}
			if err := all.Write(); err != nil {
				return err
			}
			u.Say("%s removed from %s.", status.Count(len(args), "context"), all.Path)
			return nil
		},
	}
}
