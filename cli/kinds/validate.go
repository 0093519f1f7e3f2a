package kinds

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// validating is one call of validate.
type validating struct {
	files     []string
	output    string
	recursive bool
}

// NewValidate returns the command `proxplane validate`.
func NewValidate(u *ui.UI) *cobra.Command {
	v := &validating{}
	cmd := &cobra.Command{
		Use:   "validate -f FILE|DIR|-",
		Short: "Check manifests, without a Proxmox",
		Long: `Check manifests as plan and apply do before they connect: syntax, field names, values
(also against Proxmox VE's own schema), references between objects, and addresses
and MACs that occur twice. Mistakes are reported with file and line: first those
of syntax, names and types of fields, and all others when these are corrected.

No Proxmox and no credentials are needed. proxplane doctor and plan check whether a
cluster has the storages, bridges and templates that the manifests name.

The exit status is 0 if the manifests are valid, and 1 if not.`,
		Example: `  proxplane validate -f machines.yaml
  proxplane validate -f base/ -f machines/
  proxplane validate -f machines/ -o json`,
		Args: command.TakesNothing,
		RunE: func(*cobra.Command, []string) error { return v.run(u) },
	}
	fs := cmd.Flags()
	fs.StringArrayVarP(&v.files, "filename", "f", nil, "manifests: a `FILE`, a folder, or - for the standard input; can be repeated")
	fs.BoolVarP(&v.recursive, "recursive", "R", false, "read the folders inside of folders, too")
	fs.StringVarP(&v.output, "output", "o", "", "`FORMAT`: json, for programs")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// verdict is what -o json says. Its field names stay.
type verdict struct {
	Valid   bool           `json:"valid"`
	Objects []string       `json:"objects"` // "vm/web-1"
	Errors  []verdictError `json:"errors,omitempty"`
	Notes   []string       `json:"notes,omitempty"`
}

type verdictError struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Object string `json:"object,omitempty"`
	Field  string `json:"field,omitempty"`
	Text   string `json:"text"`
}

func (v *validating) run(u *ui.UI) error {
	if err := command.CheckOutput(v.output, "json"); err != nil {
		return err
	}
	keys, notes, err := v.check(u)
	if v.output == "json" {
		return writeVerdict(u, keys, notes, err)
	}
	for _, n := range notes {
		u.Note("%s", n)
	}
	if err != nil {
		return err
	}
	u.Say("✓ %s: %s", status.Count(len(keys), "valid object"), countKinds(keys))
	return nil
}

// check reads and translates the manifests. Where Proxmox is doesn't matter: what a
// Provider or the environment would say is made up.
func (v *validating) check(u *ui.UI) ([]model.Key, []string, error) {
	if len(v.files) == 0 {
		return nil, nil, target.ErrNoManifests
	}
	if v.recursive {
		all, err := target.FoldersOf(v.files)
		if err != nil {
			return nil, nil, err
		}
		v.files, v.recursive = all, false
	}
	set, err := target.Read(u, v.files)
	if err != nil {
		return nil, nil, err
	}
	if len(set.Keys()) == 0 {
		return nil, nil, target.NoManifestIn(v.files)
	}
	_, err = set.Wanted(manifest.Options{Set: target.DefaultSet, Getenv: Offline})
	return set.Keys(), set.Notes(), err
}

// Offline returns an environment whose Proxmox is never asked.
func Offline(name string) string {
	switch name {
	case "PVE_ENDPOINT":
		return "https://proxmox.invalid:8006"
	case "PVE_TOKEN_ID":
		return "nobody@pve!validate"
	case "PVE_TOKEN_SECRET":
		return "none"
	}
	return ""
}

func writeVerdict(u *ui.UI, keys []model.Key, notes []string, err error) error {
	var wrong manifest.Errors
	if err != nil && !errors.As(err, &wrong) {
		return err // they couldn't be read
	}
	out := verdict{Valid: err == nil, Objects: []string{}, Notes: notes}
	for _, k := range keys {
		out.Objects = append(out.Objects, status.Name(k))
	}
	for _, e := range wrong {
		v := verdictError{File: e.File, Line: e.Line, Field: e.Field, Text: e.Text}
		if e.Object != (model.Key{}) {
			v.Object = status.Name(e.Object)
		}
		out.Errors = append(out.Errors, v)
	}
	if err := ui.WriteJSON(u.Out, out); err != nil {
		return err
	}
	if err != nil {
		return &ui.ExitError{Code: ui.ExitFailed}
	}
	return nil
}

// countKinds is "1 VMClass, 3 VirtualMachine", in the order in which they appear.
func countKinds(keys []model.Key) string {
	var order []string
	counts := map[string]int{}
	for _, k := range keys {
		if counts[k.Kind]++; counts[k.Kind] == 1 {
			order = append(order, k.Kind)
		}
	}
	var parts []string
	for _, kind := range order {
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return strings.Join(parts, ", ")
}
