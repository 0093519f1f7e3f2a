package pve

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"
)

// secretNames are parameters that carry secrets wherever they occur.
var secretNames = map[string]bool{
	"password": true, "confirmation-password": true, "cipassword": true, "otp": true, "keys": true,
	"tfa-challenge": true, "challenge": true, "totp": true, "ticket": true, "vncticket": true, "value": true,
	"keyring": true, "encryption-key": true, "input-data": true, "target-endpoint": true, "client-key": true,
	"CSRFPreventionToken": true,
}

// harmlessNames look like secrets and are none: names of tokens.
var harmlessNames = map[string]bool{"tokenid": true, "tokens": true, "full-tokenid": true}

// secretParam reports whether a parameter of a route is kept out of logs.
func secretParam(route, key string) bool {
	switch {
	case secretNames[key]:
		return true
	case harmlessNames[key]:
		return false
	case strings.HasSuffix(route, "/agent/file-write") && key == "content",
		strings.HasSuffix(route, "/agent/exec") && key == "command":
		// What is written into a guest or run there often holds a password.
		return true
	}
	key = strings.ToLower(key)
	return slices.ContainsFunc([]string{"password", "passwd", "secret", "ticket", "token"}, func(part string) bool {
		return strings.Contains(key, part)
	})
}

// inURL are the parts of a URL that authorise: user and password, and the query, where
// presigned links keep their signature.
var (
	inURL      = regexp.MustCompile(`(\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@'"?#]+@`)
	queryOfURL = regexp.MustCompile(`(\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s?'"]+\?)[^\s'"]+`)
)

// scrub removes secrets from a text that comes from somewhere else: given ones, and those
// within URLs. Proxmox repeats values in its messages, and URLs in the logs of its tasks.
func scrub(text string, secrets []string) string {
	for _, secret := range secrets {
		// Shorter ones would tear holes into innocent words.
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, redacted)
		}
	}
	if !strings.Contains(text, "://") {
		return text
	}
	text = inURL.ReplaceAllString(text, "${1}"+redacted+"@")
	return queryOfURL.ReplaceAllString(text, "${1}"+redacted)
}

// secrets are the values of a request that must not appear anywhere.
func (f form) secrets(route string) []string {
	var out []string
	for _, p := range f {
		// A URL may hold a secret too, and be repeated escaped, where scrub doesn't know it.
		if secretParam(route, p.key) || scrub(p.value, nil) != p.value {
			out = append(out, p.value, escaped(p.value))
		}
	}
	return out
}

// redacted is the form as it may be logged.
func (f form) redacted(route string) form {
	out := make(form, len(f))
	for i, p := range f {
		if secretParam(route, p.key) {
			p.value = redacted
		} else {
			p.value = scrub(p.value, nil)
		}
		out[i] = p
	}
	return out
}

// loggedForm makes the record's group of parameters only when the record is really written.
type loggedForm struct {
	form  form
	route string
}

func (l loggedForm) LogValue() slog.Value {
	attrs := make([]slog.Attr, len(l.form))
	for i, p := range l.form.redacted(l.route) {
		attrs[i] = slog.String(p.key, shortened(p.value, 200))
	}
	return slog.GroupValue(attrs...)
}

func (f form) summary(route string) string {
	words := make([]string, len(f))
	for i, p := range f.redacted(route) {
		words[i] = p.key + "=" + shortened(p.value, 80)
	}
	return strings.Join(words, " ")
}

func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
