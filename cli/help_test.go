package cli

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/kubectl"
	"github.com/proxplane/proxplane/cli/ui"
)

// programs are what the program is under each of its names.
var programs = map[string]func(*ui.UI) *cobra.Command{
	"proxplane": newRoot, "kubectl proxplane": kubectl.NewPlugin, "kubectl create vmsnapshot": kubectl.NewCreateSnapshot,
}

// everyCommand is for all commands of all programs.
func everyCommand(t *testing.T, do func(t *testing.T, root, c *cobra.Command)) {
	t.Helper()
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			root := program(ui.New(nil, nil, nil))
			for _, c := range commands(root) {
				do(t, root, c)
			}
		})
	}
}

// commands are all of them.
func commands(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		list = append(list, commands(c)...)
	}
	return list
}

func TestEveryCommandExplainsItself(t *testing.T) {
	everyCommand(t, func(t *testing.T, root, c *cobra.Command) {
		name := c.CommandPath()
		first, _, _ := strings.Cut(name, " ")
		switch {
		case c.Short == "" || strings.HasSuffix(c.Short, "."):
			t.Errorf("%s: Short is %q; it should be a few words without a full stop", name, c.Short)
		case c.Long == "" && c != root:
			t.Errorf("%s has no Long", name)
		case !strings.Contains(c.Example, first+" "):
			t.Errorf("%s has no example", name)
		case c.Parent() == root && len(root.Groups()) > 0 && c.GroupID == "":
			t.Errorf("%s is in no group", name)
		}
	})
}

func TestHelpFitsTheScreen(t *testing.T) {
	everyCommand(t, func(t *testing.T, root, c *cobra.Command) {
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetArgs(append(strings.Fields(strings.TrimPrefix(c.CommandPath(), root.CommandPath())), "--help"))
		if err := root.Execute(); err != nil {
			t.Errorf("%s: %v", c.CommandPath(), err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > command.HelpWidth && !strings.HasPrefix(line, "  "+root.CommandPath()+" ") {
				t.Errorf("%s: %d characters: %s", c.CommandPath(), n, line)
			}
		}
	})
}

// Examples that can't be parsed would be worse than none.
func TestExamplesHaveFlagsThatExist(t *testing.T) {
	everyCommand(t, func(t *testing.T, root, c *cobra.Command) {
		command := regexp.MustCompile(root.CommandPath() + ` ((?:[a-z]+ ?)*)([^|>"$)]*)`)
		for line := range strings.Lines(c.Example) {
			line, _, _ = strings.Cut(line, "   ") // what follows explains it
			m := command.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			target := root
			if root.HasSubCommands() {
				found, _, err := root.Find(strings.Fields(m[1]))
				if err != nil {
					t.Errorf("%s: %q: %v", c.CommandPath(), line, err)
					continue
				}
				target = found
			}
			for _, word := range strings.Fields(m[2]) {
				if word == "--" {
					break // what follows is somebody else's
				}
				name, isFlag := strings.CutPrefix(word, "--")
				if name, _, _ = strings.Cut(name, "="); isFlag && target.Flag(name) == nil && name != "help" {
					t.Errorf("%s: %q: %s has no flag --%s", c.CommandPath(), line, target.CommandPath(), name)
				}
			}
		}
	})
}

// What a flag takes is named for people, in capital letters, and not by Go's types.
func TestFlagsNameTheirValues(t *testing.T) {
	for _, c := range commands(newRoot(ui.New(nil, nil, nil))) {
		for line := range strings.Lines(c.Flags().FlagUsages() + c.PersistentFlags().FlagUsages()) {
			if m := regexp.MustCompile(`--[a-z-]+ ([a-z]\w*) {2,}|\(default \[\]\)`).FindString(line); m != "" {
				t.Errorf("%s: %q in %q", c.CommandPath(), m, line)
			}
		}
	}
}

// docs/cli.md tells of every command, and of no flag that there isn't.
func TestThePageTellsOfEveryCommand(t *testing.T) {
	page, err := os.ReadFile("../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot(ui.New(nil, nil, nil))
	flags := map[string]bool{"help": true}
	for _, c := range commands(root) {
		c.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		name := c.Name()
		if c.Parent() != nil && c.Parent() != root {
			name = c.Parent().Name() + `[a-z |\\]*[ |]` + name
		}
		told := regexp.MustCompile("`(proxplane )?" + name + `[ |\\` + "`]")
		if c != root && !c.Hidden && c.Name() != "help" && !told.Match(page) {
			t.Errorf("it doesn't tell of %s", c.CommandPath())
		}
	}
	for _, m := range regexp.MustCompile("--([a-z][a-z-]*[a-z])").FindAllSubmatch(page, -1) {
		if !flags[string(m[1])] {
			t.Errorf("there is no flag --%s", m[1])
		}
	}
}

// Other users of the machine see the arguments of processes.
func TestNoFlagTakesASecret(t *testing.T) {
	secret := regexp.MustCompile(`(?i)password|secret|ticket`)
	everyCommand(t, func(t *testing.T, _, c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if secret.MatchString(f.Name) && !strings.HasSuffix(f.Name, "-file") && f.Name != "secret-namespace" {
				t.Errorf("%s --%s takes a secret", c.CommandPath(), f.Name)
			}
		})
	})
}

func TestMistypedCommandsAndFlagsAreNamed(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"aply"}, []string{`no command "aply"`, "Did you mean apply"}},
		{[]string{"power", "of", "web"}, []string{`proxplane power has no command "of"`, "off"}},
		{[]string{"apply", "--prunee"}, []string{"unknown flag: --prunee", "Did you mean --prune", "proxplane apply --help"}},
		{[]string{"apply", "--dry-run"}, []string{"unknown flag: --dry-run", "proxplane plan shows"}},
		{[]string{"apply", "--timeout", "5"}, []string{"--timeout 5: want a time with its unit, such as 30s"}},
		{[]string{"apply", "--timeout", "-5s", "-f", "x"}, []string{"--timeout -5s: want"}},
		{[]string{"apply", "--parallel", "many"}, []string{"--parallel many: want a whole number$"}},
		{[]string{"apply", "--parallel", "-1", "-f", "x"}, []string{"--parallel -1: want a number from 1 on"}},
		{[]string{"delete", "vm/web", "--parallel", "-1"}, []string{"--parallel -1: want a number from 1 on"}},
		{[]string{"apply", "-f"}, []string{"--filename needs a value: FILE"}},
		{[]string{"get"}, []string{"missing argument for proxplane get$", `Usage: proxplane get vms\|images`, "proxplane get --help"}},
		{[]string{"clone", "web"}, []string{"Usage: proxplane clone SOURCE NAME$"}},
		{[]string{"clone", "web", "copy", "more"}, []string{"unexpected argument: more$"}},
		{[]string{"version", "now"}, []string{"unexpected argument: now$"}},
		{[]string{"completion", "tcsh"}, []string{`has no "tcsh"; there are bash, zsh, fish, powershell`}},
		{[]string{"snapshot", "create", "web", "1st"}, []string{`"1st" isn't a name that a snapshot can have`, "Did you mean s-1st"}},
		{[]string{"snapshot", "list", "-o", "xml"}, []string{"-o xml: there are wide, json, yaml and name"}},
		{[]string{"get", "things"}, []string{"can't be listed", "storages"}},
		{[]string{"apply"}, []string{"no manifests", "-f"}},
		{[]string{"--log-level", "loud", "version"}, []string{"debug, info, warn or error"}},
		{[]string{"describe", "web"}, []string{"vm/NAME"}},
		{[]string{"wait", "vm/x", "--for", "ever"}, []string{"ready, off, gone, address"}},
	} {
		code, out, err := run(t.Context(), "", c.args...)
		if code != ui.ExitFailed || out != "" {
			t.Errorf("%v: exit %d, %q", c.args, code, out)
		}
		wantText(t, err, c.want...)
	}
}
