// Package command has what all commands share: arguments, help, and errors about wrong usage.
package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Takes returns the check that a command gets from least to most arguments; most is 0 where there is no limit.
func Takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least {
			return misused(cmd, errors.New("missing argument for "+cmd.CommandPath()))
		}
		if most > 0 && len(args) > most {
			return misused(cmd, tooMuch(args[most:]))
		}
		return nil
	}
}

// TakesNothing refuses all arguments. It is for commands that have flags only.
func TakesNothing(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return misused(cmd, tooMuch(args))
	}
	return nil
}

// TakesOneOf returns the check of commands with one argument out of known values.
func TakesOneOf(words ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := Takes(1, 1)(cmd, args); err != nil {
			return err
		}
		if !slices.Contains(words, args[0]) {
			there := "there are " + strings.Join(words, ", ")
			if len(words) == 1 {
				there = "there is only " + words[0]
			}
			return misused(cmd, fmt.Errorf("%s has no %q; %s", cmd.CommandPath(), args[0], there))
		}
		return nil
	}
}

func tooMuch(args []string) error {
	return fmt.Errorf("unexpected argument: %s", strings.Join(args, " "))
}

// CheckOutput checks the value of -o: one of the formats, or empty.
func CheckOutput(output string, formats ...string) error {
	if output == "" || slices.Contains(formats, output) {
		return nil
	}
	if len(formats) == 1 {
		return fmt.Errorf("-o %s: there is only %s", output, formats[0])
	}
	return fmt.Errorf("-o %s: there are %s", output, ui.AndList(formats))
}

// CheckTimeout refuses a --timeout that is in the past.
func CheckTimeout(cmd *cobra.Command) error {
	if f := cmd.Flags().Lookup("timeout"); f != nil && f.Value.Type() == "duration" && strings.HasPrefix(f.Value.String(), "-") {
		return fmt.Errorf("--timeout %s: want a time from now on", f.Value)
	}
	return nil
}

// misused says how a command is used.
func misused(cmd *cobra.Command, err error) error {
	return ui.Advise(err, "Usage: "+strings.TrimSuffix(cmd.UseLine(), " [flags]"), seeHelp(cmd))
}

func seeHelp(cmd *cobra.Command) string { return fmt.Sprintf("See %s --help.", cmd.CommandPath()) }

// FlagError returns the error about a flag, and the nearest valid one.
func FlagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if args := cmd.Flags().Args(); cmd.HasAvailableSubCommands() && len(args) > 0 {
		return NoSubcommand(cmd, args[0]) // its flags are none of ours
	}
	var (
		unknown *pflag.NotExistError
		wrong   *pflag.InvalidValueError
		lacking *pflag.ValueRequiredError
		do      []string
	)
	switch {
	case errors.As(err, &unknown):
		if unknown.GetSpecifiedName() == "dry-run" {
			do = append(do, "proxplane plan shows what would be done.")
		} else if meant, ok := nearestFlag(cmd, unknown.GetSpecifiedName()); ok {
			do = append(do, "Did you mean --"+meant+"?")
		}
	case errors.As(err, &wrong):
		err = fmt.Errorf("--%s %s: want %s", wrong.GetFlag().Name, wrong.GetValue(), wantedBy(wrong.GetFlag()))
	case errors.As(err, &lacking):
		value, _ := pflag.UnquoteUsage(lacking.GetFlag())
		err = fmt.Errorf("--%s needs a value: %s", lacking.GetFlag().Name, value)
	}
	return ui.Advise(err, append(do, seeHelp(cmd))...)
}

// wantedBy is what a flag can be.
func wantedBy(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "duration":
		return "a time with its unit, such as 30s, 5m or 1h"
	case "bool":
		return "true or false"
	case "int", "int64", "count":
		return "a whole number"
	case "uint", "uint64":
		return "a whole number from 0 on"
	case "float64":
		return "a number"
	}
	value, _ := pflag.UnquoteUsage(f)
	return value
}

func nearestFlag(cmd *cobra.Command, name string) (string, bool) {
	var names []string
	add := func(f *pflag.Flag) { names = append(names, f.Name) }
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return suggest.Nearest(name, names)
}
