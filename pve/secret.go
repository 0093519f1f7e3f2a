package pve

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

const redacted = "[redacted]"

// Secret is a text that can't be printed, logged or marshalled by accident. Only
// [Secret.Reveal] gives it away.
type Secret struct {
	// A pointer, because fmt prints the strings of unexported fields of other people's structs
	// without asking our methods, but doesn't follow pointers there.
	text *string
}

// NewSecret wraps a text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no text.
func (s Secret) IsZero() bool { return s.text == nil }

func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

func (s Secret) GoString() string                 { return "pve.Secret(" + s.String() + ")" }
func (s Secret) Format(f fmt.State, _ rune)       { _, _ = io.WriteString(f, s.String()) }
func (s Secret) LogValue() slog.Value             { return slog.StringValue(s.String()) }
func (s Secret) MarshalText() ([]byte, error)     { return []byte(s.String()), nil }
func (s *Secret) UnmarshalText(text []byte) error { *s = NewSecret(string(text)); return nil }

// Credentials are an API token or a user with a password. Make them with [Token],
// [ParseToken] or [Password].
type Credentials struct {
	user   string
	token  string // name of the token; empty for a password
	secret Secret
}

// Token returns the credentials of an API token: id is "user@realm!name", secret is the value that
// Proxmox showed when the token was made.
func Token(id, secret string) Credentials {
	user, name := id, ""
	if at := strings.LastIndexByte(id, '!'); at > strings.LastIndexByte(id, '@') { // users' names may have one too
		user, name = id[:at], id[at+1:]
	}
	return Credentials{user: user, token: name, secret: NewSecret(secret)}
}

// ParseToken reads "user@realm!name=secret", with or without "PVEAPIToken=" before it.
func ParseToken(text string) (Credentials, error) {
	id, secret, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "PVEAPIToken="), "=")
	c := Token(id, secret)
	if !ok || c.token == "" {
		return Credentials{}, errors.New(`an API token looks like "user@realm!name=secret"`)
	}
	return c, c.validate()
}

// Password returns the credentials of a user, "root@pam". Proxmox gives tickets for them, which the
// client renews by itself. Users with a second factor can't log in this way: give them a token.
func Password(user, password string) Credentials {
	return Credentials{user: user, secret: NewSecret(password)}
}

// User returns the user's name with its realm.
func (c Credentials) User() string { return c.user }

// IsToken reports whether these are an API token.
func (c Credentials) IsToken() bool { return c.token != "" }

// IsZero reports whether there are no credentials.
func (c Credentials) IsZero() bool { return c == Credentials{} }

func (c Credentials) String() string {
	switch {
	case c.IsZero():
		return "no credentials"
	case c.IsToken():
		return "token " + c.user + "!" + c.token
	default:
		return "password of " + c.user
	}
}

func (c Credentials) GoString() string             { return "pve.Credentials(" + c.String() + ")" }
func (c Credentials) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, c.String()) }
func (c Credentials) LogValue() slog.Value         { return slog.StringValue(c.String()) }
func (c Credentials) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

func (c Credentials) validate() error {
	name, realm, _ := strings.Cut(c.user, "@")
	switch {
	case c.IsZero():
		return errors.New("no credentials given")
	case name == "" || realm == "":
		return fmt.Errorf("user %q has no realm: it should look like root@pam", c.user)
	case c.secret.IsZero():
		return fmt.Errorf("%v: the secret is empty", c)
	case strings.ContainsAny(c.user+c.token+c.secret.Reveal(), "\r\n"):
		return fmt.Errorf("credentials of %q contain a line break", c.user)
	}
	return nil
}
