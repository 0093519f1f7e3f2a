package target

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/pve"
)

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

// Credentials returns the credentials that the flags give, if any.
func (t *Target) Credentials(u *ui.UI) (pve.Credentials, error) {
	switch {
	case t.TokenID != "" && t.Username != "":
		return pve.Credentials{}, errors.New("--token-id and --username: one of them is enough")
	case t.TokenID != "" || t.TokenFile != "":
		return t.token(u)
	case t.Username != "":
		password, err := t.Secret(u, "--password-file", t.PasswordFile, "PVE_PASSWORD", "Password of "+t.Username)
		if err != nil {
			return pve.Credentials{}, err
		}
		return pve.Password(t.Username, password), nil
	case t.PasswordFile != "":
		return pve.Credentials{}, errors.New("--password-file needs --username")
	}
	return t.contextLogin(u)
}

func (t *Target) token(u *ui.UI) (pve.Credentials, error) {
	secret, err := t.Secret(u, "--token-file", t.TokenFile, "PVE_TOKEN_SECRET", "Secret of "+t.TokenID)
	if err != nil {
		return pve.Credentials{}, err
	}
	if strings.Contains(secret, "=") {
		return pve.ParseToken(secret)
	}
	if t.TokenID == "" {
		return pve.Credentials{}, fmt.Errorf("--token-file %s has only a secret: give --token-id too", t.TokenFile)
	}
	return pve.Token(t.TokenID, secret), nil
}

// Secret comes from a file, the environment or the person; never from a flag,
// since other users of the machine see the arguments of processes.
func (t *Target) Secret(u *ui.UI, flag, file, variable, prompt string) (string, error) {
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("%s %w", flag, manifest.NotRead(file, err))
		}
		return strings.TrimSpace(string(b)), nil
	}
	if s := u.Getenv(variable); s != "" {
		return s, nil
	}
	s, err := u.AskSecret(prompt)
	if errors.Is(err, ui.ErrNoAnswer) {
		return "", fmt.Errorf("no terminal to ask for the %s: set %s, or name a file that has it with %s", strings.ToLower(prompt[:1])+prompt[1:], variable, flag)
	}
	return s, err
}

// Environment returns an environment in which the flags take precedence.
func (t *Target) Environment(getenv func(string) string, creds pve.Credentials) func(string) string {
	return func(name string) string {
		switch name {
		case "PVE_ENDPOINT":
			if len(t.Endpoints) > 0 {
				return strings.Join(t.Endpoints, ",")
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
			if t.Insecure || t.CAFile != "" || len(t.Fingerprints) > 0 {
				return ""
			}
		}
		return getenv(name)
	}
}

// Override puts what the flags say in the place of what was found elsewhere.
func (t *Target) Override(c *manifest.Connection, creds pve.Credentials) error {
	if len(t.Endpoints) > 0 {
		c.Endpoints = t.Endpoints
	}
	if !creds.IsZero() {
		c.Credentials = creds
	}
	if !t.Insecure && t.CAFile == "" && len(t.Fingerprints) == 0 {
		return nil
	}
	c.TLS = pve.TLS{Insecure: t.Insecure, Fingerprints: t.Fingerprints}
	if t.CAFile != "" {
		ca, err := os.ReadFile(t.CAFile)
		if err != nil {
			return fmt.Errorf("--ca-file %w", manifest.NotRead(t.CAFile, err))
		}
		c.TLS.CA = ca
	}
	return nil
}
