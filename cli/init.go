// Package setup has the commands that say which Proxmox clusters somebody works with: init and
// context.
package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// starting is one call of init.
type starting struct {
	target
	name  string // of the context
	file  string
	force bool
	first firstMachine

	typed string // the token's secret, which is in no file yet
}

func newInit(u *ui) *cobra.Command {
	s := &starting{}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set up a context and write a first manifest",
		Long: `Set up a context for your Proxmox, and write the manifest of a first machine.

In a terminal, init asks for what the flags don't say: the endpoint, whether to trust
its certificate, a login, and which template to use. Elsewhere the flags say it, and
the rest has defaults. It logs in to see that all of that works; in Proxmox nothing
is changed. A manifest that is there already stays as it is unless --force is given.`,
		Example: `  proxplane init
  proxplane init --endpoint https://pve.example.com:8006 --token-id 'proxplane@pve!laptop' --token-file ~/.pve-token
  proxplane init --endpoint https://pve.example.com:8006 --username root@pam --password-file ~/.pve-password --ca-file pve-root-ca.pem --image ubuntu-22-template --machine web-1 --file web.yaml`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), u) },
	}
	s.connectionFlags(cmd)
	_ = cmd.Flags().MarkHidden("provider") // of manifests
	fs := cmd.Flags()
	fs.StringVar(&s.name, "context", "", "`NAME` of the context (default: the host's name)")
	fs.StringVar(&s.file, "file", "machines.yaml", "manifest to write; a `FILE`")
	fs.BoolVar(&s.force, "force", false, "replace a manifest and a context that are there already")
	fs.StringVar(&s.first.machine, "machine", "web-1", "`NAME` of the first machine")
	fs.StringVar(&s.first.image, "image", "", "`TEMPLATE` to make it from: its name or VMID, or the URL of a cloud image (default: a template that is there, else Debian 12)")
	fs.IntVar(&s.first.cpus, "cpus", 2, "`NUMBER` of virtual CPUs")
	fs.StringVar(&s.first.memory, "memory", "2Gi", "`SIZE` of its memory")
	fs.StringVar(&s.first.disk, "disk", "", "`SIZE` of its disk (default: 10Gi, or as large as the template's)")
	_ = cmd.MarkFlagFilename("file", "yaml", "yml")
	return cmd
}

func (s *starting) run(ctx context.Context, u *ui) error {
	if _, err := os.Stat(s.file); err == nil && !s.force {
		return advise(fmt.Errorf("%s is there already", s.file), "Name another file with --file, or replace it with --force.")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all, err := readContexts(u)
	if err != nil {
		return err
	}
	if err := s.endpoint(ctx, u); err != nil {
		return err
	}
	creds, err := s.who(ctx, u)
	if err != nil {
		return err
	}
	c, have, err := s.connectTo(ctx, u, creds)
	if err != nil {
		return err
	}
	u.say("✓ Proxmox VE %d.%d at %s answers, and takes the %s", have.Release, have.Minor, strings.Join(s.endpoints, ", "), c.Connection.Credentials)
	if s.name, err = s.contextName(ctx, u, all); err != nil {
		return err
	}
	if err := s.first.choose(ctx, u, have); err != nil {
		return err
	}
	text, err := s.first.manifest()
	if err != nil {
		return err
	}
	if err := s.saveContext(ctx, u, all); err != nil {
		return err
	}
	if err := writeWhole(s.file, text, 0o644); err != nil {
		return err
	}
	u.say("✓ %s: machine %s from %s", s.file, s.first.machine, s.first.image)
	u.say("\nNext:")
	for _, line := range [][2]string{
		{"proxplane doctor -f " + s.file, "is everything there, and does the login have the rights?"},
		{"proxplane plan -f " + s.file, "what would be done, and why"},
		{"proxplane apply -f " + s.file, "do it"},
	} {
		u.say("  %-36s %s", line[0], line[1])
	}
	return nil
}

// endpoint finds out where Proxmox is.
func (s *starting) endpoint(ctx context.Context, u *ui) error {
	if len(s.endpoints) == 0 {
		if e := cmp.Or(u.getenv("PVE_ENDPOINT"), u.getenv("PROXMOX_VE_ENDPOINT")); e != "" {
			s.endpoints = strings.Split(e, ",")
		}
	}
	if len(s.endpoints) == 0 {
		answer, err := u.askText(ctx, "URL of Proxmox, such as https://pve.example.com:8006", "")
		if err != nil {
			return lacks(err, "--endpoint", "the URL of Proxmox")
		}
		s.endpoints = []string{answer}
	}
	for i, text := range s.endpoints {
		whole, err := wholeEndpoint(text)
		if err != nil {
			return err
		}
		s.endpoints[i] = whole
	}
	return nil
}

// lacks says which flag says what nobody can be asked for.
func lacks(err error, flag, what string) error {
	if errors.Is(err, errNoAnswer) {
		return advise(fmt.Errorf("no terminal to ask for %s on", what), "Give "+flag+".", "See proxplane init --help.")
	}
	return err
}

// wholeEndpoint adds what people leave out: https and the port.
func wholeEndpoint(text string) (string, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return "", errors.New("the endpoint isn't a URL like https://pve.example.com:8006")
	}
	if u.Port() == "" && u.Scheme == "https" {
		u.Host = net.JoinHostPort(u.Hostname(), "8006")
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}

// who finds out whom to log in as.
func (s *starting) who(ctx context.Context, u *ui) (pve.Credentials, error) {
	if s.tokenID == "" && s.username == "" && s.tokenFile == "" {
		switch {
		case u.getenv("PVE_TOKEN_ID") != "":
			s.tokenID = u.getenv("PVE_TOKEN_ID")
		case u.getenv("PVE_USERNAME") != "":
			s.username = u.getenv("PVE_USERNAME")
		default:
			answer, err := u.askText(ctx, "API token (USER@REALM!NAME) or user (USER@REALM)", "root@pam")
			if err != nil {
				return pve.Credentials{}, lacks(err, "--token-id with --token-file, or --username with --password-file", "a login")
			}
			if strings.Contains(answer, "!") {
				s.tokenID = answer
			} else {
				s.username = answer
			}
		}
	}
	if s.tokenID == "" || s.tokenFile != "" || u.getenv("PVE_TOKEN_SECRET") != "" {
		return s.credentials(u)
	}
	secret, err := s.target.secret(u, "--token-file", "", "PVE_TOKEN_SECRET", "Secret of "+s.tokenID)
	if err != nil {
		return pve.Credentials{}, err
	}
	s.typed = secret
	return pve.Token(s.tokenID, secret), nil
}

// connectTo logs in. A certificate that nobody vouches for is shown, and trusted if
// the person says so.
func (s *starting) connectTo(ctx context.Context, u *ui, creds pve.Credentials) (*cluster, *model.Observed, error) {
	for {
		w := manifest.Wanted{Provider: model.Key{Kind: "Provider"}, Connection: manifest.Connection{Endpoints: s.endpoints}, Desired: model.Desired{Set: defaultSet}}
		if s.caFile == "" && len(s.fingerprints) == 0 && !s.insecure {
			if from, err := manifest.Environment(s.environment(u.getenv, creds), os.ReadFile); err == nil {
				w.Connection.TLS = from.TLS
			}
		}
		if err := s.override(&w.Connection, creds); err != nil {
			return nil, nil, err
		}
		c, err := connect(u, w)
		if err != nil {
			return nil, nil, err
		}
		have, err := c.look(ctx)
		var untrusted *tls.CertificateVerificationError
		if err == nil || len(s.fingerprints) > 0 || !errors.As(err, &untrusted) || len(untrusted.UnverifiedCertificates) == 0 || !u.asks() {
			return c, have, err
		}
		shown := fingerprint(untrusted.UnverifiedCertificates[0].Raw)
		u.say("The certificate of %s isn't signed by an authority that is trusted here. Its fingerprint is\n  %s\nProxmox shows the same under node, System, Certificates.", s.endpoints[0], shown)
		yes, askErr := u.ask(ctx, "Trust this certificate?")
		if askErr != nil || !yes {
			return nil, nil, errors.Join(askErr, err)
		}
		s.fingerprints = []string{shown}
	}
}

var notInName = regexp.MustCompile(`[^a-z0-9-]+`)

// contextName is what the context is called.
func (s *starting) contextName(ctx context.Context, u *ui, all *contexts) (string, error) {
	name := s.name
	if name == "" {
		host := hostOf(s.endpoints[0])
		if net.ParseIP(host) == nil {
			host, _, _ = strings.Cut(host, ".")
		}
		name = strings.Trim(notInName.ReplaceAllString(strings.ToLower(host), "-"), "-")
		if u.asks() {
			answer, err := u.askText(ctx, "Name of the context", name)
			if err != nil {
				return "", err
			}
			name = answer
		}
	}
	for _, old := range all.All {
		if old.Name == name && !s.force && strings.Join(old.Endpoints, ",") != strings.Join(s.endpoints, ",") {
			return "", advise(fmt.Errorf("there is a context %s already, for %s", name, strings.Join(old.Endpoints, ", ")), "Name another one with --context, or replace it with --force.")
		}
	}
	return name, nil
}

// saveContext writes the context, and the secret into a file of its own if the
// person wants that.
func (s *starting) saveContext(ctx context.Context, u *ui, all *contexts) error {
	if s.typed != "" {
		file := filepath.Join(filepath.Dir(all.file), s.name+".token")
		yes, err := u.ask(ctx, fmt.Sprintf("Keep the token's secret in %s, which only you can read?", file))
		if err != nil {
			return err
		}
		if yes {
			if err := writeWhole(file, []byte(s.typed+"\n"), 0o600); err != nil {
				return err
			}
			s.tokenFile = file
		}
	}
	out := &ui{in: u.in, out: &strings.Builder{}, err: u.err, getenv: u.getenv}
	if err := addContext(&s.target, out, s.name, true); err != nil {
		return err
	}
	u.say("✓ context %s in %s", s.name, all.file)
	if e := overriding(u); e != "" {
		u.note("%s is set in the environment, and comes before the context", e)
	}
	return nil
}
