package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/ui"
)

// NeedsSubcommand makes a command that only groups others return an error if none of them
// is named.
func NeedsSubcommand(cmd *cobra.Command) {
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return NoSubcommand(cmd, args[0])
	}
}

// NoSubcommand returns the error for an unknown command, and the nearest valid one.
func NoSubcommand(cmd *cobra.Command, name string) error {
	do := []string{}
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		do = append(do, "Did you mean "+strings.Join(near, ", or ")+"?")
	}
	return ui.Advise(fmt.Errorf("%s has no command %q", cmd.CommandPath(), name), append(do, fmt.Sprintf("See %s --help.", cmd.CommandPath()))...)
}
