package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands are all of them.
func commands(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		list = append(list, commands(c)...)
	}
	return list
}

func TestEveryCommandExplainsItself(t *testing.T) {
	root := newRoot(newUI(nil, nil, nil))
	for _, c := range commands(root) {
		name := c.CommandPath()
		switch {
		case c.Short == "" || strings.HasSuffix(c.Short, "."):
			t.Errorf("%s: Short is %q; it should be a few words without a full stop", name, c.Short)
		case c.Long == "" && c != root:
			t.Errorf("%s has no Long", name)
		case !strings.Contains(c.Example, "proxplane "):
			t.Errorf("%s has no example", name)
		case c.Parent() == root && c.GroupID == "":
			t.Errorf("%s is in no group", name)
		}
	}
}

func TestHelpFitsTheScreen(t *testing.T) {
	for _, c := range commands(newRoot(newUI(nil, nil, nil))) {
		var out bytes.Buffer
		root := newRoot(newUI(nil, &out, &out))
		root.SetOut(&out)
		root.SetArgs(append(strings.Fields(strings.TrimPrefix(c.CommandPath(), "proxplane")), "--help"))
		if err := root.Execute(); err != nil {
			t.Errorf("%s: %v", c.CommandPath(), err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth && !strings.HasPrefix(line, "  proxplane ") {
				t.Errorf("%s: %d characters: %s", c.CommandPath(), n, line)
			}
		}
	}
}

// Examples that can't be parsed would be worse than none.
func TestExamplesHaveFlagsThatExist(t *testing.T) {
	root := newRoot(newUI(nil, nil, nil))
	command := regexp.MustCompile(`proxplane ((?:[a-z]+ ?)+)([^|>"$)]*)`)
	for _, c := range commands(root) {
		for line := range strings.Lines(c.Example) {
			line, _, _ = strings.Cut(line, "   ") // what follows explains it
			m := command.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			target, _, err := root.Find(strings.Fields(m[1]))
			if err != nil {
				t.Errorf("%s: %q: %v", c.CommandPath(), line, err)
				continue
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
	}
}

// Other users of the machine see the arguments of processes.
func TestNoFlagTakesASecret(t *testing.T) {
	secret := regexp.MustCompile(`(?i)password|secret|ticket`)
	for _, c := range commands(newRoot(newUI(nil, nil, nil))) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if secret.MatchString(f.Name) && !strings.HasSuffix(f.Name, "-file") {
				t.Errorf("%s --%s takes a secret", c.CommandPath(), f.Name)
			}
		})
	}
}

func TestMistypedCommandsAndFlagsAreNamed(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"aply"}, []string{`no command "aply"`, "Did you mean apply"}},
		{[]string{"power", "of", "web"}, []string{`proxplane power has no command "of"`, "off"}},
		{[]string{"apply", "--prunee"}, []string{"unknown flag: --prunee", "Did you mean --prune", "proxplane apply --help"}},
		{[]string{"get", "things"}, []string{"can't be listed", "storages"}},
		{[]string{"apply"}, []string{"no manifests", "-f"}},
		{[]string{"--log-level", "loud", "version"}, []string{"debug, info, warn or error"}},
		{[]string{"describe", "web"}, []string{"vm/NAME"}},
		{[]string{"wait", "vm/x", "--for", "ever"}, []string{"ready, off, gone, address"}},
	} {
		code, out, err := run(t.Context(), "", c.args...)
		if code != exitFailed || out != "" {
			t.Errorf("%v: exit %d, %q", c.args, code, out)
		}
		wantText(t, err, c.want...)
	}
}
