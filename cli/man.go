package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/version"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands",
		Long: `Write the manual pages of all commands into a folder, one page a command, in section
1. Packages bring them along; this is for those who install the program by hand.`,
		Example: `  proxplane man ~/.local/share/man/man1
  sudo proxplane man /usr/local/share/man/man1`,
		Args: command.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			n := 0
			err := eachPage(cmd.Root(), func(name, page string) error {
				n++
				return os.WriteFile(filepath.Join(args[0], name), []byte(page), 0o644)
			})
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%d pages in %s. man proxplane shows the first one.\n", n, args[0])
			}
			return err
		},
	}
}

// eachPage makes the manual page of a command and of all below it.
func eachPage(cmd *cobra.Command, do func(name, page string) error) error {
	if cmd.Hidden || !cmd.IsAvailableCommand() && cmd.HasParent() {
		return nil
	}
	if err := do(pageName(cmd)+".1", manPage(cmd)); err != nil {
		return err
	}
	for _, c := range cmd.Commands() {
		if err := eachPage(c, do); err != nil {
			return err
		}
	}
	return nil
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage is the manual page of a command.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	program := version.This()
	day := ""
	if t, err := time.Parse(time.RFC3339, program.Time); err == nil {
		day = t.UTC().Format(time.DateOnly)
	}
	fmt.Fprintf(&b, ".TH %s 1 %s %s %s\n", manWord(strings.ToUpper(pageName(cmd))), manWord(day), manWord("proxplane "+program.Version), manWord("proxplane manual"))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(pageName(cmd)), roff(cmd.Short))
	line := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		line = cmd.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.nf\n%s\n.fi\n", roff(line))
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	b.WriteString(".SH DESCRIPTION\n" + manText(text))
	if cmd.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(pageName(c)), roff(c.Short))
			}
		}
	}
	manFlags(&b, "OPTIONS", cmd.NonInheritedFlags())
	manFlags(&b, "OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if cmd.HasExample() {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(strings.TrimRight(cmd.Example, "\n")))
	}
	if !cmd.HasParent() {
		b.WriteString(manEnvironment)
	} else {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(pageName(cmd.Parent())))
	}
	return b.String()
}

// manText are paragraphs; what is indented stays as it is.
func manText(text string) string {
	var b strings.Builder
	fixed := false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		indented := strings.HasPrefix(line, " ")
		if indented != fixed && line != "" {
			b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[indented])
			fixed = indented
		}
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roff(line) + "\n")
	}
	if fixed {
		b.WriteString(".fi\n")
	}
	return b.String()
}

func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := `\fB` + roff("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			name = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + name
		}
		if value != "" {
			name += ` \fI` + roff(value) + `\fR`
		}
		switch d := f.DefValue; {
		case d == "" || d == "false" || d == "[]" || d == "0" || d == "0s" || strings.Contains(usage, "default"):
		default:
			usage += " (default: " + d + ")"
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", name, roff(usage))
	})
}

const manEnvironment = `.SH ENVIRONMENT
.TP
\fBPVE_ENDPOINT\fR
URL of Proxmox; several nodes of one cluster with commas between them.
.TP
\fBPVE_TOKEN_ID\fR, \fBPVE_TOKEN_SECRET\fR
An API token, USER@REALM!NAME, and its secret.
.TP
\fBPVE_USERNAME\fR, \fBPVE_PASSWORD\fR
A user with a realm, and the password.
.TP
\fBPVE_CA_BUNDLE\fR
Certificates to trust in PEM, or a file that has them.
.TP
\fBPROXPLANE_CONTEXT\fR, \fBPROXPLANE_CONFIG\fR
The context to use, and the file that has it.
.SH FILES
.TP
\fI~/.config/proxplane/config.yaml\fR
The contexts.
.SH EXIT STATUS
0 if all went well; 1 if not; 2 if plan --detailed-exitcode or diff has found differences; 130 after Ctrl\-C.
`

// roff escapes what means something to roff.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...", "✓", "*").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

func manWord(text string) string { return `"` + strings.ReplaceAll(text, `"`, `\(dq`) + `"` }
