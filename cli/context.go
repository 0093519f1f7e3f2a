package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/status"
)

func newContext(u *ui) *cobra.Command {
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
	needsCommand(cmd)
	cmd.AddCommand(newContextList(u), newContextUse(u), newContextShow(u), newContextAdd(u), newContextRemove(u))
	return cmd
}

// contextRow is a context in -o json. It has no secrets.
type contextRow struct {
	*contextEntry
	Current bool `json:"current"`
}

func newContextList(u *ui) *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the contexts",
		Long:  "List the contexts, with whom each logs in as, and which is the current one.",
		Example: `  proxplane context list
  proxplane context list -o name`,
		Args: takesNothing,
		RunE: func(*cobra.Command, []string) error {
			if err := checkOutput(output, "json", "name"); err != nil {
				return err
			}
			all, err := readContexts(u)
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

func listContexts(c *contexts, u *ui, output string) error {
	rows := []contextRow{}
	t := status.Table{Columns: []status.Column{{Name: "NAME"}, {Name: "ENDPOINT", Flex: true}, {Name: "LOGIN"}, {Name: "CURRENT"}}}
	for _, s := range c.All {
		rows = append(rows, contextRow{s, s.Name == c.Current})
		current := ""
		if s.Name == c.Current {
			current = "yes"
		}
		t.Rows = append(t.Rows, []string{s.Name, strings.Join(s.Endpoints, ","), s.who(), current})
	}
	switch {
	case output == "json":
		return writeJSON(u.out, rows)
	case output == "name":
		for _, name := range c.names() {
			u.say("%s", name)
		}
		return nil
	case len(rows) == 0:
		fmt.Fprintf(u.err, "There are no contexts in %s. proxplane init makes the first one.\n", c.file)
		return nil
	}
	_, err := io.WriteString(u.out, t.Text(u.layout(false)))
	return err
}

func newContextUse(u *ui) *cobra.Command {
	return &cobra.Command{
		Use:               "use NAME",
		Short:             "Make a context the current one",
		Long:              "Make a context the current one: commands use it where nothing else says which Proxmox is meant.",
		Example:           `  proxplane context use lab`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := readContexts(u)
			if err != nil {
				return err
			}
			s, err := all.find(args[0])
			if err != nil {
				return err
			}
			all.Current = s.Name
			if err := all.write(); err != nil {
				return err
			}
			u.say("Current context: %s (%s).", s.Name, strings.Join(s.Endpoints, ", "))
			if e := overriding(u); e != "" {
				u.note("%s is set in the environment, and comes before the current context", e)
			}
			return nil
		},
	}
}

// overriding is the variable that comes before the current context; empty: none is
// set.
func overriding(u *ui) string {
	for _, name := range []string{"PROXPLANE_CONTEXT", "PVE_ENDPOINT", "PROXMOX_VE_ENDPOINT"} {
		if u.getenv(name) != "" {
			return name
		}
	}
	return ""
}

func newContextShow(u *ui) *cobra.Command {
	return &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show a context, or what is used now and why",
		Long: `Show a context. Without a name: which Proxmox commands use now that have neither
manifests with a Provider nor flags, and what decides that.`,
		Example: `  proxplane context show
  proxplane context show lab`,
		Args:              takes(0, 1),
		ValidArgsFunction: completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := readContexts(u)
			if err != nil {
				return err
			}
			name := all.Current
			switch e := overriding(u); {
			case len(args) > 0:
				name = args[0]
			case e == "PROXPLANE_CONTEXT":
				name = u.getenv(e)
				u.say("PROXPLANE_CONTEXT names the context %s.", name)
			case e != "":
				u.say("The environment is used: %s is set to %s.", e, u.getenv(e))
				return nil
			case name == "":
				return advise(errors.New("no context is the current one, and the environment names no Proxmox"), "proxplane context use NAME chooses one, proxplane init makes one.")
			default:
				u.say("The current context is %s, of %s.", name, all.file)
			}
			s, err := all.find(name)
			if err != nil {
				return err
			}
			showContext(s, u)
			return nil
		},
	}
}

func showContext(s *contextEntry, u *ui) {
	line := func(label, value string) {
		if value != "" {
			u.say("%-14s%s", label+":", value)
		}
	}
	line("Name", s.Name)
	line("Endpoints", strings.Join(s.Endpoints, ", "))
	line("Token", s.TokenID)
	line("Token file", s.path(s.TokenFile))
	line("User", s.Username)
	line("Password file", s.path(s.PasswordFile))
	line("CA file", s.path(s.CAFile))
	line("Fingerprints", strings.Join(s.Fingerprints, ", "))
	if s.Insecure {
		line("Certificate", "not verified")
	}
}

func newContextAdd(u *ui) *cobra.Command {
	t, use := &target{}, false
	cmd := &cobra.Command{
		Use:   "add NAME --endpoint URL",
		Short: "Add a context, or change one",
		Long: `Add a context, or replace the one of that name. It names the file with the secret,
which nobody else may be able to read (mode 0600); without one, the secret comes
from PVE_TOKEN_SECRET or PVE_PASSWORD, or is asked for each time. The first context
becomes the current one.`,
		Example: `  proxplane context add lab --endpoint https://pve.example.com:8006 --token-id 'proxplane@pve!laptop' --token-file ~/.pve-token
  proxplane context add home --endpoint https://192.168.1.10:8006 --username root@pam --use`,
		Args: takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return addContext(t, u, args[0], use) },
	}
	t.connectionFlags(cmd)
	_ = cmd.Flags().MarkHidden("provider") // of manifests
	cmd.Flags().BoolVar(&use, "use", false, "make it the current context")
	return cmd
}

func addContext(t *target, u *ui, name string, use bool) error {
	if len(t.endpoints) == 0 {
		return advise(errors.New("a context needs an endpoint"), "Give --endpoint, such as https://pve.example.com:8006.")
	}
	if t.tokenID != "" && t.username != "" {
		return errors.New("--token-id and --username: one of them is enough")
	}
	s := &contextEntry{
		Name: name, Endpoints: t.endpoints, TokenID: t.tokenID, TokenFile: t.tokenFile, Username: t.username, PasswordFile: t.passwordFile,
		CAFile: t.caFile, Fingerprints: t.fingerprints, Insecure: t.insecure,
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
	if _, err := s.credentials(); err != nil {
		return err
	}
	all, err := readContexts(u)
	if err != nil {
		return err
	}
	all.put(s)
	if use || all.Current == "" {
		all.Current = name
	}
	if err := all.write(); err != nil {
		return err
	}
	u.say("Context %s saved in %s.", name, all.file)
	if all.Current == name {
		u.say("It is the current context; proxplane doctor checks it.")
	}
	return nil
}

func newContextRemove(u *ui) *cobra.Command {
	return &cobra.Command{
		Use:               "remove NAME…",
		Short:             "Remove contexts",
		Long:              "Remove contexts. The files with their secrets, and the clusters, stay as they are.",
		Example:           `  proxplane context remove lab`,
		Aliases:           []string{"rm"},
		Args:              takes(1, 0),
		ValidArgsFunction: completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := readContexts(u)
			if err != nil {
				return err
			}
			for _, name := range args {
				s, err := all.find(name)
				if err != nil {
					return err
				}
				all.remove(name)
				for _, file := range []string{s.TokenFile, s.PasswordFile} {
					if file != "" {
						u.note("the secret is still in %s", s.path(file))
					}
				}
			}
			if err := all.write(); err != nil {
				return err
			}
			u.say("%s removed from %s.", status.Count(len(args), "context"), all.file)
			return nil
		},
	}
}
