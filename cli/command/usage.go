package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/proxplane/proxplane/status"
)

// ConnectionFlags are shown apart from what a command is about.
const ConnectionFlags = "connection"

// MarkConnection marks a flag as one of the connection to Proxmox.
func MarkConnection(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = fs.SetAnnotation(name, ConnectionFlags, []string{"true"})
	}
}

// HelpWidth is for terminals of any size, and for pages.
const HelpWidth = 80

// Help writes what a command does, and how it is used.
func Help(cmd *cobra.Command, _ []string) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n", paragraphs(text))
	_ = Usage(cmd)
}

// paragraphs breaks the lines of paragraphs anew; what is indented stays.
func paragraphs(text string) string {
	var out []string
	open := false
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		plain := line != "" && line[0] != ' '
		if plain && open {
			out[len(out)-1] += " " + line
		} else {
			out = append(out, line)
		}
		open = plain
	}
	for i, p := range out {
		if p != "" && p[0] != ' ' {
			out[i] = status.Wrap(p, HelpWidth, "")
		}
	}
	return strings.Join(out, "\n")
}

// Usage writes how a command is used: examples, commands by group, flags.
func Usage(cmd *cobra.Command) error {
	w := cmd.OutOrStdout()
	line := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		line = cmd.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(w, "Usage:\n  %s\n", line)
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	commandGroups(w, cmd)
	own, connection := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[ConnectionFlags] != nil {
			connection.AddFlag(f)
		} else {
			own.AddFlag(f)
		}
	})
	flagGroup(w, "Flags", own)
	flagGroup(w, "Connection flags, instead of a Provider, the environment or the current context", connection)
	flagGroup(w, "Global flags", cmd.InheritedFlags())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nRun %s COMMAND --help for details of a command.\n", cmd.CommandPath())
	}
	return nil
}

func commandGroups(w io.Writer, cmd *cobra.Command) {
	list := func(title string, in func(*cobra.Command) bool) {
		var b strings.Builder
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() && in(c) {
				fmt.Fprintf(&b, "  %-*s  %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
		if b.Len() > 0 {
			fmt.Fprintf(w, "\n%s\n%s", title, b.String())
		}
	}
	if len(cmd.Groups()) == 0 {
		list("Commands:", func(*cobra.Command) bool { return true })
		return
	}
	for _, g := range cmd.Groups() {
		list(g.Title, func(c *cobra.Command) bool { return c.GroupID == g.ID })
	}
	list("Others:", func(c *cobra.Command) bool { return c.GroupID == "" })
}

func flagGroup(w io.Writer, title string, fs *pflag.FlagSet) {
	if text := fs.FlagUsagesWrapped(HelpWidth); strings.TrimSpace(text) != "" {
		fmt.Fprintf(w, "\n%s:\n%s", title, text)
	}
}
