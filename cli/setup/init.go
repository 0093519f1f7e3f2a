// Package setup has the commands that say which Proxmox clusters somebody works with: init and
// context.
package setup

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

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/contexts"
	"github.com/proxplane/proxplane/cli/login"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// starting is one call of init.
type starting struct {
	target.Target
	name  string // of the context
	file  string
	force bool
	first firstMachine

	typed string // the token's secret, which is in no file yet
}

// NewInit returns the command `proxplane init`.
func NewInit(u *ui.UI) *cobra.Command {
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
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), u) },
	}
	s.ConnectionFlags(cmd)
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

func (s *starting) run(ctx context.Context, u *ui.UI) error {
	if _, err := os.Stat(s.file); err == nil && !s.force {
		return ui.Advise(fmt.Errorf("%s is there already", s.file), "Name another file with --file, or replace it with --force.")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all, err := contexts.Read(u)
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
	u.Say("✓ Proxmox VE %d.%d at %s answers, and takes the %s", have.Release, have.Minor, strings.Join(s.Endpoints, ", "), c.Connection.Credentials)
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
	if err := ui.WriteWhole(s.file, text, 0o644); err != nil {
		return err
	}
	u.Say("✓ %s: machine %s from %s", s.file, s.first.machine, s.first.image)
	u.Say("\nNext:")
	for _, line := range [][2]string{
		{"proxplane doctor -f " + s.file, "is everything there, and does the login have the rights?"},
		{"proxplane plan -f " + s.file, "what would be done, and why"},
		{"proxplane apply -f " + s.file, "do it"},
	} {
		u.Say("  %-36s %s", line[0], line[1])
	}
	return nil
}

// endpoint finds out where Proxmox is.
func (s *starting) endpoint(ctx context.Context, u *ui.UI) error {
	if len(s.Endpoints) == 0 {
		if e := cmp.Or(u.Getenv("PVE_ENDPOINT"), u.Getenv("PROXMOX_VE_ENDPOINT")); e != "" {
			s.Endpoints = strings.Split(e, ",")
		}
	}
	if len(s.Endpoints) == 0 {
		answer, err := u.AskText(ctx, "URL of Proxmox, such as https://pve.example.com:8006", "")
		if err != nil {
			return lacks(err, "--endpoint", "the URL of Proxmox")
		}
		s.Endpoints = []string{answer}
	}
	for i, text := range s.Endpoints {
		whole, err := wholeEndpoint(text)
		if err != nil {
			return err
		}
		s.Endpoints[i] = whole
	}
	return nil
}

// lacks names the flag for a value that can't be asked for without a terminal.
func lacks(err error, flag, what string) error {
	if errors.Is(err, ui.ErrNoAnswer) {
		return ui.Advise(fmt.Errorf("no terminal to ask for %s on", what), "Give "+flag+".", "See proxplane init --help.")
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
func (s *starting) who(ctx context.Context, u *ui.UI) (pve.Credentials, error) {
	if s.TokenID == "" && s.Username == "" && s.TokenFile == "" {
		switch {
		case u.Getenv("PVE_TOKEN_ID") != "":
			s.TokenID = u.Getenv("PVE_TOKEN_ID")
		case u.Getenv("PVE_USERNAME") != "":
			s.Username = u.Getenv("PVE_USERNAME")
		default:
			answer, err := u.AskText(ctx, "API token (USER@REALM!NAME) or user (USER@REALM)", "root@pam")
			if err != nil {
				return pve.Credentials{}, lacks(err, "--token-id with --token-file, or --username with --password-file", "a login")
			}
			if strings.Contains(answer, "!") {
				s.TokenID = answer
			} else {
				s.Username = answer
			}
		}
	}
	if s.TokenID == "" || s.TokenFile != "" || u.Getenv("PVE_TOKEN_SECRET") != "" {
		return s.Credentials(u)
	}
	secret, err := s.Target.Secret(u, "--token-file", "", "PVE_TOKEN_SECRET", "Secret of "+s.TokenID)
	if err != nil {
		return pve.Credentials{}, err
	}
	s.typed = secret
	return pve.Token(s.TokenID, secret), nil
}

// connectTo logs in. A certificate that nobody vouches for is shown, and trusted if
// the person says so.
func (s *starting) connectTo(ctx context.Context, u *ui.UI, creds pve.Credentials) (*target.Site, *model.Observed, error) {
	for {
		w := manifest.Wanted{Provider: model.Key{Kind: "Provider"}, Connection: manifest.Connection{Endpoints: s.Endpoints}, Desired: model.Desired{Set: target.DefaultSet}}
		if s.CAFile == "" && len(s.Fingerprints) == 0 && !s.Insecure {
			if from, err := manifest.Environment(s.Environment(u.Getenv, creds), os.ReadFile); err == nil {
				w.Connection.TLS = from.TLS
			}
		}
		if err := s.Override(&w.Connection, creds); err != nil {
			return nil, nil, err
		}
		c, err := target.Connect(u, w)
		if err != nil {
			return nil, nil, err
		}
		have, err := c.Look(ctx)
		var untrusted *tls.CertificateVerificationError
		if err == nil || len(s.Fingerprints) > 0 || !errors.As(err, &untrusted) || len(untrusted.UnverifiedCertificates) == 0 || !u.Asks() {
			return c, have, err
		}
		shown := ui.Fingerprint(untrusted.UnverifiedCertificates[0].Raw)
		u.Say("The certificate of %s isn't signed by an authority that is trusted here. Its fingerprint is\n  %s\nProxmox shows the same under node, System, Certificates.", s.Endpoints[0], shown)
		yes, askErr := u.Ask(ctx, "Trust this certificate?")
		if askErr != nil || !yes {
			return nil, nil, errors.Join(askErr, err)
		}
		s.Fingerprints = []string{shown}
	}
}

var notInName = regexp.MustCompile(`[^a-z0-9-]+`)

// contextName is what the context is called.
func (s *starting) contextName(ctx context.Context, u *ui.UI, all *contexts.File) (string, error) {
	name := s.name
	if name == "" {
		host := login.HostOf(s.Endpoints[0])
		if net.ParseIP(host) == nil {
			host, _, _ = strings.Cut(host, ".")
		}
		name = strings.Trim(notInName.ReplaceAllString(strings.ToLower(host), "-"), "-")
		if u.Asks() {
			answer, err := u.AskText(ctx, "Name of the context", name)
			if err != nil {
				return "", err
			}
			name = answer
		}
	}
	for _, old := range all.All {
		if old.Name == name && !s.force && strings.Join(old.Endpoints, ",") != strings.Join(s.Endpoints, ",") {
			return "", ui.Advise(fmt.Errorf("there is a context %s already, for %s", name, strings.Join(old.Endpoints, ", ")), "Name another one with --context, or replace it with --force.")
		}
	}
	return name, nil
}

// saveContext writes the context, and the secret into a file of its own if the
// person wants that.
func (s *starting) saveContext(ctx context.Context, u *ui.UI, all *contexts.File) error {
	if s.typed != "" {
		file := filepath.Join(filepath.Dir(all.Path), s.name+".token")
		yes, err := u.Ask(ctx, fmt.Sprintf("Keep the token's secret in %s, which only you can read?", file))
		if err != nil {
			return err
		}
		if yes {
			if err := ui.WriteWhole(file, []byte(s.typed+"\n"), 0o600); err != nil {
				return err
			}
			s.TokenFile = file
		}
	}
	out := &ui.UI{In: u.In, Out: &strings.Builder{}, Err: u.Err, Getenv: u.Getenv}
	if err := addContext(&s.Target, out, s.name, true); err != nil {
		return err
	}
	u.Say("✓ context %s in %s", s.name, all.Path)
	if e := overriding(u); e != "" {
		u.Note("%s is set in the environment, and comes before the context", e)
	}
	return nil
}
