// Package login has the flags of SSH logins to machines: private keys, and trusted host keys.
package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	xssh "golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/host/ssh"
)

// SSH is how to get into machines over SSH.
type SSH struct {
	Identity   string
	User       string
	knownHosts string
	HostKeys   []string
	TrustNew   bool
	jump       string
}

func (l *SSH) Flags(fs *pflag.FlagSet, user string) {
	fs.StringVarP(&l.Identity, "identity", "i", "", "`FILE` with the private key; else those of the SSH agent and of ~/.ssh are tried")
	fs.StringVarP(&l.User, "login", "l", "", "`USER` to log in as; "+user)
	fs.StringVar(&l.knownHosts, "known-hosts", "", "`FILE` with host keys to trust, instead of those that were trusted before")
	fs.StringSliceVar(&l.HostKeys, "host-key", nil, "`FINGERPRINT`, SHA256:…, of the only host key to trust")
	fs.BoolVar(&l.TrustNew, "trust-new", false, "trust a host of which no key is known, and remember its key")
	fs.StringVarP(&l.jump, "jump", "J", "", "`[USER@]HOST[:PORT]` to go through")
}

// Config returns the login as package remote takes it. Machines whose address may be another's
// tomorrow are known by an alias.
func (l *SSH) Config(ctx context.Context, u *ui.UI, alias string) (ssh.Config, error) {
	c := ssh.Config{User: l.User, Fingerprints: l.HostKeys, HostAlias: alias, TrustFirst: l.TrustNew, Agent: u.Getenv("SSH_AUTH_SOCK"), Log: u.Log.Logger}
	var err error
	if c.KnownHostsFile, err = l.KnownHostsFile(u); err != nil {
		return c, err
	}
	if l.knownHosts != "" {
		c.HostAlias = ""
	} else if c.KnownHosts, err = os.ReadFile(sshFile(u, "known_hosts")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	c.Ask = func(host, kind, fingerprint string) bool {
		yes, err := u.Ask(ctx, fmt.Sprintf("No key of %s is known. It shows %s (%s).\nTrust it, and remember it?", host, fingerprint, kind))
		return yes && err == nil
	}
	if err := l.key(u, &c); err != nil {
		return c, err
	}
	if l.jump != "" {
		// The flags about host keys and the user are those of the machine itself.
		j := c
		j.HostAlias, j.Fingerprints, j.User = "", nil, ""
		host := l.jump
		if user, rest, ok := strings.Cut(l.jump, "@"); ok {
			j.User, host = user, rest
		}
		c.Jump = &ssh.Jump{Host: host, Config: j}
	}
	return c, nil
}

// KnownHostsFile returns the path of the file in which host keys are remembered.
func (l *SSH) KnownHostsFile(u *ui.UI) (string, error) {
	if l.knownHosts != "" {
		return l.knownHosts, nil
	}
	file, err := u.ConfigFile("known_hosts")
	if err != nil {
		return "", fmt.Errorf("%w: say with --known-hosts where host keys are remembered", err)
	}
	return file, nil
}

// sshFile is a file of the person's folder for SSH. Without a home there is none,
// which is an empty name: one without a folder would be in the working directory.
func sshFile(u *ui.UI, name string) string {
	home := u.Getenv("HOME")
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".ssh", name)
}

// usualKeys are where people have their key.
var usualKeys = []string{"id_ed25519", "id_ecdsa", "id_rsa"}

// key finds the private key, and asks for its passphrase if it has one.
func (l *SSH) key(u *ui.UI, c *ssh.Config) error {
	files := []string{l.Identity}
	if l.Identity == "" {
		if c.Agent != "" {
			return nil
		}
		files = nil
		for _, name := range usualKeys {
			files = append(files, sshFile(u, name))
		}
	} else {
		c.Agent = "" // that key, and no other
	}
	for _, file := range files {
		key, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) && l.Identity == "" {
			continue
		}
		if err != nil {
			return fmt.Errorf("private key: %w", err)
		}
		c.Key = key
		var locked *xssh.PassphraseMissingError
		if _, err := xssh.ParsePrivateKey(key); errors.As(err, &locked) {
			pass, err := u.AskSecret("Passphrase of " + file)
			if err != nil {
				return ui.Advise(fmt.Errorf("%s has a passphrase: %w", file, err), "Add the key to an SSH agent: ssh-add "+file)
			}
			c.Passphrase = []byte(pass)
		}
		return nil
	}
	return ui.Advise(errors.New("there is no private key to log in with"), "Name it with -i, or start an SSH agent.")
}

// Explain adds advice to the error of a failed login.
func (l *SSH) Explain(u *ui.UI, err error, name string) error {
	file, _ := l.KnownHostsFile(u)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ssh.ErrHostKeyChanged):
		return ui.Advise(err, fmt.Sprintf("If that is as it should be, forget the old key: ssh-keygen -f %s -R %s", file, name))
	case errors.Is(err, ssh.ErrHostKeyUnknown):
		return ui.Advise(err, "Compare the fingerprint with the host's own (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub there), then add --trust-new.")
	case errors.Is(err, ssh.ErrAuth):
		return ui.Advise(err, "Say who to log in as with -l, and with which key with -i.")
	case errors.Is(err, ssh.ErrUnreachable) && l.jump == "":
		return ui.Advise(err, "If it can be reached from another machine only, go through that: --jump root@"+cmp.Or(HostOf(u.Getenv("PVE_ENDPOINT")), "HOST"))
	}
	return err
}

// HostOf returns the host of an endpoint, or of the first of several.
func HostOf(endpoint string) string {
	first, _, _ := strings.Cut(endpoint, ",")
	if !strings.Contains(first, "://") {
		first = "https://" + first
	}
	u, err := url.Parse(strings.TrimSpace(first))
	if err != nil {
		return ""
	}
	return u.Hostname()
}
