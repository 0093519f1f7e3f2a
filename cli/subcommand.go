package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// needsCommand has a command that only groups others say so when none of them
// is named.
func needsCommand(cmd *cobra.Command) {
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return noCommand(cmd, args[0])
	}
}

// noCommand says that there is no such command, and which was probably meant.
func noCommand(cmd *cobra.Command, name string) error {
	do := []string{}
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		do = append(do, "Did you mean "+strings.Join(near, ", or ")+"?")
	}
	return advise(fmt.Errorf("%s has no command %q", cmd.CommandPath(), name), append(do, fmt.Sprintf("See %s --help.", cmd.CommandPath()))...)
}
