// Package target is what a command is about: which manifests, or which objects of a Kubernetes, and
// the site of which Proxmox.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/spec"
)

// target is which manifests a command is about, and which Proxmox.
type target struct {
	files    []string
	set      string
	provider string

	endpoints              []string
	tokenID, tokenFile     string
	username, passwordFile string
	caFile                 string
	fingerprints           []string
	insecure               bool
	required               bool
	recursive              bool // folders are read with those inside

	context string        // by name
	entry   *contextEntry // the context that is used, if one is
	named   bool          // somebody asked for that context

	objects *namespace // what is wanted are these objects; nil: it is in files
}

// defaultSet is what is applied together when nobody says so.
const defaultSet = "default"

// flags adds the flags to a command. Where the manifests are required, they
// are what the command is about; elsewhere they say which Proxmox.
func (t *target) flags(cmd *cobra.Command, required bool) {
	t.required = required
	fs := cmd.Flags()
	what := "manifests: a `FILE`, a folder, or - for the standard input; can be repeated"
	if !required {
		what += "; without them, the environment or the current context says which Proxmox"
	}
	fs.StringArrayVarP(&t.files, "filename", "f", nil, what)
	fs.BoolVarP(&t.recursive, "recursive", "R", false, "read the folders inside of folders, too")
	fs.StringVar(&t.set, "set", defaultSet, "`NAME` of the set that the manifests form; sets don't touch each other's machines")
	t.connectionFlags(cmd)
	t.contextFlag(cmd)
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
}

// connectionFlags are those that say which Proxmox, and how it is reached.
func (t *target) connectionFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&t.provider, "provider", "", "only objects of the Provider of this `NAME`")
	fs.StringSliceVar(&t.endpoints, "endpoint", nil, "`URL` of Proxmox; several for the nodes of one cluster")
	fs.StringVar(&t.tokenID, "token-id", "", "API token, `USER@REALM!NAME`; the secret comes from --token-file or PVE_TOKEN_SECRET, or is asked for")
	fs.StringVar(&t.tokenFile, "token-file", "", "`FILE` with the token's secret, or with USER@REALM!NAME=SECRET")
	fs.StringVar(&t.username, "username", "", "`USER@REALM`; the password comes from --password-file or PVE_PASSWORD, or is asked for")
	fs.StringVar(&t.passwordFile, "password-file", "", "`FILE` with the user's password")
	fs.StringVar(&t.caFile, "ca-file", "", "`FILE` with certificates to trust, such as a copy of /etc/pve/pve-root-ca.pem")
	fs.StringSliceVar(&t.fingerprints, "fingerprint", nil, "`SHA-256` fingerprint of the certificate to trust")
	fs.BoolVar(&t.insecure, "insecure", false, "trust any certificate; for tests")
	markConnection(fs, "endpoint", "token-id", "token-file", "username", "password-file", "ca-file", "fingerprint", "insecure")
	for _, name := range []string{"token-file", "password-file", "ca-file"} {
		_ = cmd.MarkFlagFilename(name)
	}
}

// given tells whether it is said what is wanted, not only which Proxmox.
func (t *target) given() bool { return len(t.files) > 0 || t.objects != nil }

// wanted reads the manifests: what is wanted of each Proxmox.
func (t *target) wanted(u *ui) ([]manifest.Wanted, error) {
	if !t.given() {
		return nil, errNoManifests
	}
	if err := t.namedContext(u); err != nil {
		return nil, err
	}
	creds, err := t.credentials(u)
	if err != nil {
		return nil, err
	}
	read := t.fromFiles
	if t.objects != nil {
		read = t.fromObjects
	}
	all, err := read(u, &creds)
	if err != nil {
		return nil, err
	}
	if t.provider != "" {
		names := []string{}
		for _, w := range all {
			names = append(names, w.Provider.Name)
		}
		all = slices.DeleteFunc(all, func(w manifest.Wanted) bool { return w.Provider.Name != t.provider })
		if len(all) == 0 {
			return nil, fmt.Errorf("--provider %s: %s only %s", t.provider, t.whose("have", "has"), cmp.Or(strings.Join(names, ", "), "none"))
		}
	}
	if len(all) == 0 {
		return nil, advise(errors.New("the manifests name no Proxmox"), "Add a Provider, set PVE_ENDPOINT, or give --endpoint.")
	}
	if len(all) > 1 && (len(t.endpoints) > 0 || !creds.IsZero()) {
		return nil, advise(errors.New("there are several Providers, but one endpoint or login was given"), "Choose one of them with --provider.")
	}
	for i := range all {
		if err := t.override(&all[i].Connection, creds); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// fromFiles reads what is wanted from files. Where they have no Provider, the
// current context may say who we are.
func (t *target) fromFiles(u *ui, creds *pve.Credentials) ([]manifest.Wanted, error) {
	if err := t.expand(); err != nil {
		return nil, err
	}
	set, err := manifest.Read(t.files, u.in)
	if err != nil {
		return nil, err
	}
	if len(set.Keys()) == 0 {
		return nil, noManifestIn(t.files)
	}
	if !hasProvider(set) {
		if err := t.currentContext(u); err != nil {
			return nil, err
		}
		if creds.IsZero() {
			*creds, err = t.credentials(u)
		}
		if err != nil {
			return nil, err
		}
	}
	all, err := set.Wanted(manifest.Options{Set: t.set, Getenv: t.environment(u.getenv, *creds), ReadFile: os.ReadFile})
	for _, n := range set.Notes() {
		u.note("%s", n)
	}
	return all, err
}

// errNothingNamed: a command that is about manifests or machines was given neither.
var errNothingNamed = advise(errors.New("neither manifests nor machines are given"), "Name manifests with -f: a file, a folder, or - for the standard input. Or name machines: vm/NAME.")

// errNoManifests: a command that is about manifests was given none.
var errNoManifests = advise(errors.New("no manifests are given"), "Name them with -f: a file, a folder, or - for the standard input.")

// noManifestIn says that files were read and have no manifest in them.
func noManifestIn(files []string) error {
	from := strings.Join(files, ", ")
	if from == "-" {
		from = "the standard input"
	}
	return advise(fmt.Errorf("there is no manifest in %s", from), "A manifest has apiVersion, kind and metadata.name.")
}

// expand names the folders inside of those that are given, if these are wanted, too.
func (t *target) expand() (err error) {
	if t.recursive {
		t.files, err = foldersOf(t.files)
		t.recursive = false
	}
	return err
}

func foldersOf(paths []string) ([]string, error) {
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

// whose says where what is wanted is written: "the manifests have", "namespace lab
// has".
func (t *target) whose(several, one string) string {
	if t.objects != nil {
		return "namespace " + t.objects.name + " " + one
	}
	return "the manifests " + several
}

// having are those of several Proxmoxes whose manifests have all machines of these names.
func having(all []manifest.Wanted, names []string) []manifest.Wanted {
	return slices.DeleteFunc(slices.Clone(all), func(w manifest.Wanted) bool {
		return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
			return !slices.ContainsFunc(w.Desired.VMs, func(v model.VM) bool {
				name, _, _ := strings.Cut(bare(name), "/") // a snapshot is VM/NAME
				return v.Owner.Name == name || v.Name == name || v.VMID != 0 && strconv.Itoa(v.VMID) == name
			})
		})
	})
}

// one is the only Proxmox that a command is about: of the manifests, or of the
// environment.
func (t *target) one(u *ui, names ...string) (manifest.Wanted, error) {
	if t.given() {
		all, err := t.wanted(u)
		if err != nil {
			return manifest.Wanted{}, err
		}
		if len(all) > 1 && t.objects != nil {
			all = t.objects.only(all)
		}
		if of := having(all, names); len(all) > 1 && len(of) == 1 {
			all = of
		}
		if len(all) > 1 {
			return manifest.Wanted{}, advise(fmt.Errorf("%s several Providers", t.whose("have", "has")), "Choose one of them with --provider.")
		}
		return all[0], nil
	}
	if err := errors.Join(t.namedContext(u), t.currentContext(u)); err != nil {
		return manifest.Wanted{}, err
	}
	creds, err := t.credentials(u)
	if err != nil {
		return manifest.Wanted{}, err
	}
	conn, err := manifest.Environment(t.environment(u.getenv, creds), os.ReadFile)
	if err != nil {
		return manifest.Wanted{}, advise(err, otherWay(err))
	}
	w := manifest.Wanted{Provider: model.Key{Kind: "Provider"}, Connection: conn, Desired: model.Desired{Set: t.set, Range: spec.DefaultRange}}
	return w, t.override(&w.Connection, creds)
}

// otherWay says which flags can say what the environment lacks.
func otherWay(err error) string {
	switch {
	case errors.Is(err, manifest.ErrNoEndpoint):
		return "Or give --endpoint, with --token-id or --username; or make a context: proxplane init."
	case errors.Is(err, manifest.ErrNoCredentials):
		return "Or give --token-id or --username: the secret is asked for then, or read from a file."
	}
	return ""
}

// credentials are those that the flags give, if any.
func (t *target) credentials(u *ui) (pve.Credentials, error) {
	switch {
	case t.tokenID != "" && t.username != "":
		return pve.Credentials{}, errors.New("--token-id and --username: one of them is enough")
	case t.tokenID != "" || t.tokenFile != "":
		return t.token(u)
	case t.username != "":
		password, err := t.secret(u, "--password-file", t.passwordFile, "PVE_PASSWORD", "Password of "+t.username)
		if err != nil {
			return pve.Credentials{}, err
		}
		return pve.Password(t.username, password), nil
	case t.passwordFile != "":
		return pve.Credentials{}, errors.New("--password-file needs --username")
	}
	return t.contextLogin(u)
}

func (t *target) token(u *ui) (pve.Credentials, error) {
	secret, err := t.secret(u, "--token-file", t.tokenFile, "PVE_TOKEN_SECRET", "Secret of "+t.tokenID)
	if err != nil {
		return pve.Credentials{}, err
	}
	if strings.Contains(secret, "=") {
		return pve.ParseToken(secret)
	}
	if t.tokenID == "" {
		return pve.Credentials{}, fmt.Errorf("--token-file %s has only a secret: give --token-id too", t.tokenFile)
	}
	return pve.Token(t.tokenID, secret), nil
}

// secret comes from a file, the environment or the person; never from a flag,
// since other users of the machine see the arguments of processes.
func (t *target) secret(u *ui, flag, file, variable, prompt string) (string, error) {
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("%s %w", flag, manifest.NotRead(file, err))
		}
		return strings.TrimSpace(string(b)), nil
	}
	if s := u.getenv(variable); s != "" {
		return s, nil
	}
	s, err := u.askSecret(prompt)
	if errors.Is(err, errNoAnswer) {
		return "", fmt.Errorf("no terminal to ask for the %s: set %s, or name a file that has it with %s", strings.ToLower(prompt[:1])+prompt[1:], variable, flag)
	}
	return s, err
}

// environment is an environment with what the flags say on top.
func (t *target) environment(getenv func(string) string, creds pve.Credentials) func(string) string {
	return func(name string) string {
		switch name {
		case "PVE_ENDPOINT":
			if len(t.endpoints) > 0 {
				return strings.Join(t.endpoints, ",")
			}
		case "PROXMOX_VE_API_TOKEN", "PVE_TOKEN_ID", "PVE_TOKEN_SECRET", "PROXMOX_VE_USERNAME", "PROXMOX_VE_PASSWORD":
			if !creds.IsZero() {
				return ""
			}
		case "PVE_USERNAME", "PVE_PASSWORD":
			if !creds.IsZero() {
				return "given@flags" // override puts the real ones
			}
		case "PVE_INSECURE_SKIP_VERIFY", "PVE_CA_BUNDLE", "PVE_FINGERPRINT":
			if t.insecure || t.caFile != "" || len(t.fingerprints) > 0 {
				return ""
			}
		}
		return getenv(name)
	}
}

// override puts what the flags say in the place of what was found elsewhere.
func (t *target) override(c *manifest.Connection, creds pve.Credentials) error {
	if len(t.endpoints) > 0 {
		c.Endpoints = t.endpoints
	}
	if !creds.IsZero() {
		c.Credentials = creds
	}
	if !t.insecure && t.caFile == "" && len(t.fingerprints) == 0 {
		return nil
	}
	c.TLS = pve.TLS{Insecure: t.insecure, Fingerprints: t.fingerprints}
	if t.caFile != "" {
		ca, err := os.ReadFile(t.caFile)
		if err != nil {
			return fmt.Errorf("--ca-file %w", manifest.NotRead(t.caFile, err))
		}
		c.TLS.CA = ca
	}
	return nil
}
