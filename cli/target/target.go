// Package target resolves what a command works on: manifests, or objects of a Kubernetes, and the
// site of a Proxmox.
package target

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/contexts"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/spec"
)

// Target is which manifests a command is about, and which Proxmox.
type Target struct {
	Files    []string
	Set      string
	Provider string

	Endpoints              []string
	TokenID, TokenFile     string
	Username, PasswordFile string
	CAFile                 string
	Fingerprints           []string
	Insecure               bool
	required               bool
	recursive              bool // folders are read with those inside

	context string          // by name
	entry   *contexts.Entry // the context that is used, if one is
	named   bool            // somebody asked for that context

	Objects *Namespace // what is wanted are these objects; nil: it is in files
}

// DefaultSet is what is applied together when nobody says so.
const DefaultSet = "default"

// Flags adds the flags to a command. Where the manifests are required, they
// are what the command is about; elsewhere they say which Proxmox.
func (t *Target) Flags(cmd *cobra.Command, required bool) {
	t.required = required
	fs := cmd.Flags()
	what := "manifests: a `FILE`, a folder, or - for the standard input; can be repeated"
	if !required {
		what += "; without them, the environment or the current context says which Proxmox"
	}
	fs.StringArrayVarP(&t.Files, "filename", "f", nil, what)
	fs.BoolVarP(&t.recursive, "recursive", "R", false, "read the folders inside of folders, too")
	fs.StringVar(&t.Set, "set", DefaultSet, "`NAME` of the set that the manifests form; sets don't touch each other's machines")
	t.ConnectionFlags(cmd)
	t.contextFlag(cmd)
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
}

// ConnectionFlags adds the flags that say which Proxmox is meant, and how to reach it.
func (t *Target) ConnectionFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.Provider, "provider", "", "only objects of the Provider of this `NAME`")
	t.loginFlags(cmd)
}

// LoginFlags adds the flags of commands without manifests: which Proxmox is meant, and how to reach it.
func (t *Target) LoginFlags(cmd *cobra.Command) {
	t.loginFlags(cmd)
	t.contextFlag(cmd)
}

func (t *Target) loginFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringSliceVar(&t.Endpoints, "endpoint", nil, "`URL` of Proxmox; several for the nodes of one cluster")
	fs.StringVar(&t.TokenID, "token-id", "", "API token, `USER@REALM!NAME`; the secret comes from --token-file or PVE_TOKEN_SECRET, or is asked for")
	fs.StringVar(&t.TokenFile, "token-file", "", "`FILE` with the token's secret, or with USER@REALM!NAME=SECRET")
	fs.StringVar(&t.Username, "username", "", "`USER@REALM`; the password comes from --password-file or PVE_PASSWORD, or is asked for")
	fs.StringVar(&t.PasswordFile, "password-file", "", "`FILE` with the user's password")
	fs.StringVar(&t.CAFile, "ca-file", "", "`FILE` with certificates to trust, such as a copy of /etc/pve/pve-root-ca.pem")
	fs.StringSliceVar(&t.Fingerprints, "fingerprint", nil, "`SHA-256` fingerprint of the certificate to trust")
	fs.BoolVar(&t.Insecure, "insecure", false, "trust any certificate; for tests")
	command.MarkConnection(fs, "endpoint", "token-id", "token-file", "username", "password-file", "ca-file", "fingerprint", "insecure")
	for _, name := range []string{"token-file", "password-file", "ca-file"} {
		_ = cmd.MarkFlagFilename(name)
	}
}

// Given reports whether it is said what is wanted, not only which Proxmox.
func (t *Target) Given() bool { return len(t.Files) > 0 || t.Objects != nil }

// Wanted reads the manifests: what is wanted of each Proxmox.
func (t *Target) Wanted(u *ui.UI) ([]manifest.Wanted, error) {
	if !t.Given() {
		return nil, ErrNoManifests
	}
	if err := t.namedContext(u); err != nil {
		return nil, err
	}
	creds, err := t.Credentials(u)
	if err != nil {
		return nil, err
	}
	read := t.fromFiles
	if t.Objects != nil {
		read = t.fromObjects
	}
	all, err := read(u, &creds)
	if err != nil {
		return nil, err
	}
	if t.Provider != "" {
		names := []string{}
		for _, w := range all {
			names = append(names, w.Provider.Name)
		}
		all = slices.DeleteFunc(all, func(w manifest.Wanted) bool { return w.Provider.Name != t.Provider })
		if len(all) == 0 {
			return nil, fmt.Errorf("--provider %s: %s %s", t.Provider, t.whose("have", "has"), onlyOrNone(names))
		}
	}
	if len(all) == 0 {
		return nil, ui.Advise(errors.New("the manifests name no Proxmox"), "Add a Provider, set PVE_ENDPOINT, or give --endpoint.")
	}
	if len(all) > 1 && (len(t.Endpoints) > 0 || !creds.IsZero()) {
		return nil, ui.Advise(errors.New("there are several Providers, but one endpoint or login was given"), "Choose one of them with --provider.")
	}
	for i := range all {
		if err := t.Override(&all[i].Connection, creds); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// fromFiles reads what is wanted from files. Where they have no Provider, the
// current context may say who we are.
func (t *Target) fromFiles(u *ui.UI, creds *pve.Credentials) ([]manifest.Wanted, error) {
	if err := t.expand(); err != nil {
		return nil, err
	}
	set, err := Read(u, t.Files)
	if err != nil {
		return nil, err
	}
	if len(set.Keys()) == 0 {
		return nil, NoManifestIn(t.Files)
	}
	if !HasProvider(set) {
		if err := t.currentContext(u); err != nil {
			return nil, err
		}
		if creds.IsZero() {
			*creds, err = t.Credentials(u)
		}
		if err != nil {
			return nil, err
		}
	}
	all, err := set.Wanted(manifest.Options{Set: t.Set, Getenv: t.Environment(u.Getenv, *creds), ReadFile: os.ReadFile})
	for _, n := range set.Notes() {
		u.Note("%s", n)
	}
	return all, err
}

// ErrNothingNamed says that a command that is about manifests or machines was given neither.
var ErrNothingNamed = ui.Advise(errors.New("neither manifests nor machines are given"), "Name manifests with -f: a file, a folder, or - for the standard input. Or name machines: vm/NAME.")

// ErrNoManifests says that a command that is about manifests was given none.
var ErrNoManifests = ui.Advise(errors.New("no manifests are given"), "Name them with -f: a file, a folder, or - for the standard input.")

// NoManifestIn returns the error that files were read and have no manifest in them.
func NoManifestIn(files []string) error {
	from := strings.Join(files, ", ")
	if from == "-" {
		from = "the standard input"
	}
	return ui.Advise(fmt.Errorf("there is no manifest in %s", from), "A manifest has apiVersion, kind and metadata.name.")
}

// expand names the folders inside of those that are given, if these are wanted, too.
func (t *Target) expand() (err error) {
	if t.recursive {
		t.Files, err = FoldersOf(t.Files)
		t.recursive = false
	}
	return err
}

// FoldersOf returns folders and those inside of them.
func FoldersOf(paths []string) ([]string, error) {
	var all []string
	for _, path := range paths {
		list, err := manifest.Folders(path)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// Read reads manifests, and says so where a folder has none but those inside of it have.
func Read(u *ui.UI, files []string) (*manifest.Set, error) {
	set, err := manifest.Read(files, u.In)
	if !errors.Is(err, manifest.ErrNoManifests) {
		return set, err
	}
	for _, path := range files {
		inside, _ := manifest.Folders(path) // the first error is the one to report
		if len(inside) > 0 && !slices.Contains(inside, path) {
			return nil, ui.Advise(err, fmt.Sprintf("Folders inside of it have some, such as %s: -R reads them, too.", inside[0]))
		}
	}
	return nil, err
}

// whose says where what is wanted is written: "the manifests have", "namespace lab
// has".
// onlyOrNone are the names of all Providers that there are.
func onlyOrNone(names []string) string {
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	if len(names) == 0 {
		return "no Provider"
	}
	return "only " + strings.Join(names, ", ")
}

func (t *Target) whose(several, one string) string {
	if t.Objects != nil {
		return "namespace " + t.Objects.Name + " " + one
	}
	return "the manifests " + several
}

// having are those of several Proxmoxes whose manifests have all machines of these names.
func having(all []manifest.Wanted, names []string) []manifest.Wanted {
	return slices.DeleteFunc(slices.Clone(all), func(w manifest.Wanted) bool {
		return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
			return !slices.ContainsFunc(w.Desired.VMs, func(v model.VM) bool {
				name, _, _ := strings.Cut(Bare(name), "/") // a snapshot is VM/NAME
				return v.Owner.Name == name || v.Name == name || v.VMID != 0 && strconv.Itoa(v.VMID) == name
			})
		})
	})
}

// One returns the only Proxmox that a command is about: of the manifests, or of the
// environment.
func (t *Target) One(u *ui.UI, names ...string) (manifest.Wanted, error) {
	if t.Given() {
		all, err := t.Wanted(u)
		if err != nil {
			return manifest.Wanted{}, err
		}
		if len(all) > 1 && t.Objects != nil {
			all = t.Objects.only(all)
		}
		if of := having(all, names); len(all) > 1 && len(of) == 1 {
			all = of
		}
		if len(all) > 1 {
			return manifest.Wanted{}, ui.Advise(fmt.Errorf("%s several Providers", t.whose("have", "has")), "Choose one of them with --provider.")
		}
		return all[0], nil
	}
	if err := errors.Join(t.namedContext(u), t.currentContext(u)); err != nil {
		return manifest.Wanted{}, err
	}
	creds, err := t.Credentials(u)
	if err != nil {
		return manifest.Wanted{}, err
	}
	conn, err := manifest.Environment(t.Environment(u.Getenv, creds), os.ReadFile)
	if err != nil {
		return manifest.Wanted{}, ui.Advise(err, otherWay(err))
	}
	w := manifest.Wanted{Provider: model.Key{Kind: "Provider"}, Connection: conn, Desired: model.Desired{Set: t.Set, Range: spec.DefaultRange}}
	return w, t.Override(&w.Connection, creds)
}
