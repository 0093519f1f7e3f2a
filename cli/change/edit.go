package change

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/kinds"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// editing is one call of edit.
type editing struct {
	applying
	only bool // save, and don't apply
}

// NewEdit returns the command `proxplane edit`.
func NewEdit(u *ui.UI) *cobra.Command {
	e := &editing{}
	cmd := &cobra.Command{
		Use:   "edit KIND/NAME -f FILE|DIR",
		Short: "Edit an object's manifest in an editor, and apply it",
		Long: `Open the file that has an object's manifest in your editor (VISUAL or EDITOR, else vi),
at the line where it begins. When you are done, the manifests are checked; if they
are valid, the file is saved and the manifests are applied, as proxplane apply does.
Mistakes are shown, and you can edit again. A file that you leave as it is, or empty,
stays as it is.

proxplane import writes the manifest of a machine that has none.`,
		Example: `  proxplane edit vm/web-1 -f machines.yaml
  proxplane edit class/small -f machines/ --allow-restart
  EDITOR="code --wait" proxplane edit vm/web-1 -f machines.yaml --no-apply`,
		Args: command.Takes(1, 1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return e.completeObjects(args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return e.run(cmd, u, args[0]) },
	}
	e.flags(cmd)
	cmd.Flags().BoolVar(&e.only, "no-apply", false, "save the file, and don't apply it")
	return cmd
}

// completeObjects completes the names of the manifests' objects.
func (e *editing) completeObjects(args []string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || len(e.Files) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	set, err := manifest.Read(e.Files, nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, k := range set.Keys() {
		names = append(names, status.Name(k))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (e *editing) run(cmd *cobra.Command, u *ui.UI, what string) error {
	switch {
	case len(e.Files) == 0:
		return ui.Advise(errors.New("no manifests are given"), "Name them with -f.", importFirst(what))
	case slices.Contains(e.Files, "-"):
		return errors.New("the standard input can't be edited: name a file with -f")
	}
	if err := errors.Join(e.check(), command.CheckOutput(e.output, "json")); err != nil {
		return err
	}
	// Manifests with mistakes can be edited, too, as long as it is known where they are.
	set, err := manifest.Read(e.Files, nil)
	if set == nil {
		return err
	}
	file, line, err := findObject(set, what)
	if err != nil {
		if hint := importFirst(what); hint != "" {
			return ui.Advise(err, hint)
		}
		return err
	}
	changed, err := e.edit(cmd.Context(), u, file, line)
	if err != nil || !changed {
		return err
	}
	if e.only {
		return nil
	}
	return e.applying.run(cmd, u)
}

// importFirst says how a machine gets a manifest that can be edited; empty: it isn't about
// a machine.
func importFirst(what string) string {
	name := target.Bare(what)
	if strings.Contains(name, "/") || name == what {
		return ""
	}
	return fmt.Sprintf("A machine without a manifest gets one by: proxplane import %[1]s > %[1]s.yaml", ui.Quoted(name))
}

// findObject finds where KIND/NAME is.
func findObject(set *manifest.Set, what string) (file string, line int, err error) {
	word, name, ok := strings.Cut(what, "/")
	if !ok || name == "" {
		return "", 0, ui.Advise(fmt.Errorf("%q isn't KIND/NAME", what), "Write KIND/NAME, such as vm/web-1 or class/small.")
	}
	var kind string
	switch strings.ToLower(word) {
	case "secret", "configmap":
		kind = map[string]string{"secret": "Secret", "configmap": "ConfigMap"}[strings.ToLower(word)]
	default:
		d, err := kinds.FindDefinition(word)
		if err != nil {
			return "", 0, err
		}
		kind = d.Kind()
	}
	var names []string
	for _, k := range set.Keys() {
		if k.Kind != kind {
			continue
		}
		if k.Name == name {
			file, line, _ := set.Place(model.Key{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name})
			return file, line, nil
		}
		names = append(names, k.Name)
	}
	return "", 0, fmt.Errorf("the manifests have no %s %q; %s", kind, name, ui.ThereAre(names))
}

// edit lets a person edit a file until it is valid, and saves it. It reports whether
// something has changed.
func (e *editing) edit(ctx context.Context, u *ui.UI, file string, line int) (bool, error) {
	before, err := os.ReadFile(file)
	if err != nil {
		return false, manifest.NotRead(file, err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return false, err
	}
	folder, err := os.MkdirTemp("", "proxplane-edit-")
	if err != nil {
		return false, err
	}
	draft := filepath.Join(folder, filepath.Base(file))
	if err := os.WriteFile(draft, before, 0o600); err != nil {
		return false, err
	}
	for {
		if err := editor(ctx, u, draft, line); err != nil {
			return false, ui.Advise(err, fmt.Sprintf("%s stays as it is. The draft is %s.", file, draft))
		}
		after, err := os.ReadFile(draft)
		if err != nil {
			return false, err
		}
		if bytes.Equal(before, after) || len(bytes.TrimSpace(after)) == 0 {
			u.Say("%s stays as it is.", file)
			return false, os.RemoveAll(folder)
		}
		wrong := e.valid(u, file, after)
		if wrong == nil {
			if err := ui.WriteWhole(file, after, info.Mode().Perm()); err != nil {
				return false, ui.Advise(err, "What you have written is in "+draft+".")
			}
			u.Say("✓ %s saved", file)
			return true, os.RemoveAll(folder)
		}
		if !u.Asks() {
			return false, ui.Advise(wrong, fmt.Sprintf("%s stays as it is. What you have written is in %s.", file, draft))
		}
		u.Complain(wrong)
		again, err := u.Ask(ctx, "Edit again?")
		if err != nil || !again {
			return false, errors.Join(err, fmt.Errorf("%s stays as it is; what you have written is in %s", file, draft))
		}
	}
}

// valid checks the manifests with a text in the place of a file.
func (e *editing) valid(u *ui.UI, file string, text []byte) error {
	set, err := manifest.ReadInstead(e.Files, file, text)
	if err != nil {
		return err
	}
	getenv := u.Getenv
	if !target.HasProvider(set) {
		getenv = kinds.Offline // which Proxmox it is doesn't matter yet
	}
	_, err = set.Wanted(manifest.Options{Set: e.Set, Getenv: getenv, ReadFile: os.ReadFile})
	return err
}

// lineEditors take the line to begin at as +LINE.
var lineEditors = []string{"vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "kak", "joe"}

// editor runs the person's editor.
func editor(ctx context.Context, u *ui.UI, file string, line int) error {
	command := u.Getenv("VISUAL")
	if command == "" {
		command = u.Getenv("EDITOR")
	}
	if command == "" {
		command = "vi"
	}
	args := []string{"-c", command + ` "$@"`, "sh"}
	if program, _, _ := strings.Cut(command, " "); slices.Contains(lineEditors, filepath.Base(program)) && line > 1 {
		args = append(args, fmt.Sprintf("+%d", line))
	}
	cmd := exec.CommandContext(ctx, "sh", append(args, file)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = u.In, ui.Raw(u.Out), ui.Raw(u.Err)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run the editor (%s): %w", command, err)
	}
	return nil
}
