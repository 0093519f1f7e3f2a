package providerspec

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/pve"
)

// The variables that stand for fields that aren't there.
const (
	EnvEndpoint = "PM_API_ENDPOINT"
	EnvUserID   = "PM_API_USER_ID"
	EnvToken    = "PM_API_TOKEN" //nolint:gosec // the name of a variable
	EnvInsecure = "PM_TLS_INSECURE"
	EnvProxy    = "PM_PROXY_URL"
)

// Login is the connection to the Proxmox cluster of a machine.
type Login struct {
	Proxmox pve.Config
	Proxy   string     // URL of an HTTP proxy; empty: that of the environment
	SSH     *ssh.Hosts // nil: user-data goes by ISO
	// Source says where the secrets come from: logins that only differ in secrets of the same
	// source are the same login with other secrets.
	Source string
}

// Source reads keys of Secrets and ConfigMaps, and variables.
type Source struct {
	// Read gives the keys of a Secret or ConfigMap; nil: there is none.
	Read   func(ctx context.Context, kind, namespace, name string) (map[string]string, error)
	Getenv func(string) string
}

// NotReadError says that a Secret or ConfigMap couldn't be read, which may pass.
type NotReadError struct {
	Field string
	Err   error
}

func (e *NotReadError) Error() string { return "providerSpec.value." + e.Field + ": " + e.Err.Error() }

func (e *NotReadError) Unwrap() error { return e.Err }

// Login resolves how the cluster is reached. What is wrong is an [Errors]; what may pass by itself
// is a [*NotReadError].
func (p *Proxmox) Login(ctx context.Context, from Source) (Login, error) {
	l := lookup{ctx: ctx, from: from}
	endpoint := l.value("endpoint", p.Endpoint, EnvEndpoint)
	user := l.value("userID", p.UserID, EnvUserID)
	token := l.value("token", p.Token, EnvToken)
	insecure := l.flag("allowInsecure", p.AllowInsecure, EnvInsecure)
	proxy := l.value("proxyURL", p.ProxyURL, EnvProxy)
	ca := l.value("ca", p.CA, "")
	out := Login{Proxmox: pve.Config{TLS: pve.TLS{CA: []byte(ca), Fingerprints: p.Fingerprints, Insecure: insecure}}, Proxy: proxy}
	for part := range strings.SplitSeq(strings.Join(strings.Fields(endpoint), ","), ",") {
		if part != "" {
			out.Proxmox.Endpoints = append(out.Proxmox.Endpoints, strings.TrimSuffix(strings.TrimSuffix(part, "/"), "/api2/json"))
		}
	}
	l.need("endpoint", endpoint, EnvEndpoint, "the URL of Proxmox, such as https://pve1:8006")
	l.need("userID", user, EnvUserID, "a token's name, USER@REALM!TOKENID")
	l.need("token", token, EnvToken, "the UUID of the token")
	if who, name, _ := strings.Cut(user, "!"); user != "" && (name == "" || !strings.Contains(who, "@")) {
		l.fail("userID", "want USER@REALM!TOKENID, as Proxmox shows it when the token is made")
	}
	if u, err := url.Parse(proxy); proxy != "" && (err != nil || u.Host == "") {
		l.fail("proxyURL", "want a URL such as http://proxy:3128")
	}
	if insecure && (ca != "" || len(p.Fingerprints) > 0) {
		l.fail("allowInsecure", "makes no sense beside ca and fingerprints; leave it out")
	}
	out.Proxmox.Credentials = pve.Token(user, token)
	if p.Delivery == "snippets" {
		out.SSH = &ssh.Hosts{Addresses: p.SSHAddresses}
		out.SSH.User = cmp.Or(p.SSHUser, "root")
		out.SSH.Key = []byte(l.value("ciStorageSSHPrivateKey", p.CIStorageSSHPrivateKey, ""))
		out.SSH.KnownHosts = []byte(p.SSHHostKeys)
	}
	out.Source = strings.Join([]string{endpoint, user, source(p.Token), proxy, ca, strings.Join(p.Fingerprints, ","), strconv.FormatBool(insecure), source(p.CIStorageSSHPrivateKey), p.Delivery, p.SSHUser, p.SSHHostKeys}, "\x00")
	if l.notRead != nil {
		return out, l.notRead
	}
	return out, l.errs.OrNil()
}

// source says where a value comes from, without saying it.
func source(v *Var) string {
	switch {
	case v == nil:
		return "environment"
	case v.Secret != nil:
		return "secret " + v.Secret.Namespace + "/" + v.Secret.Name + "/" + v.Secret.Key
	case v.ConfigMap != nil:
		return "configmap " + v.ConfigMap.Namespace + "/" + v.ConfigMap.Name + "/" + v.ConfigMap.Key
	}
	return "literal"
}

// lookup resolves values.
type lookup struct {
	report
	ctx     context.Context //nolint:containedctx // it lives as long as the call
	from    Source
	notRead error
}

func (l *lookup) fail(field, format string, args ...any) {
	l.report.fail("cloudProviderSpec."+field, format, args...)
}

func (l *lookup) need(field, value, env, what string) {
	for _, e := range l.errs {
		if strings.HasPrefix(e.Field, "cloudProviderSpec."+field) {
			return
		}
	}
	if value == "" && l.notRead == nil {
		l.fail(field, "is missing: want %s, here or in %s", what, env)
	}
}

// value is what a field says, or else a variable.
func (l *lookup) value(field string, v *Var, env string) string {
	if v == nil || v.Value == "" && v.Secret == nil && v.ConfigMap == nil {
		if env == "" {
			return ""
		}
		return strings.TrimSpace(l.from.Getenv(env))
	}
	ref, kind, name := v.Secret, "Secret", "secretKeyRef"
	if v.ConfigMap != nil {
		ref, kind, name = v.ConfigMap, "ConfigMap", "configMapKeyRef"
	}
	if ref == nil {
		return strings.TrimSpace(v.Value)
	}
	data, err := l.from.Read(l.ctx, kind, ref.Namespace, ref.Name)
	text, there := data[ref.Key]
	switch {
	case err != nil:
		l.notRead = &NotReadError{Field: "cloudProviderSpec." + field, Err: fmt.Errorf("read %s %s/%s: %w", kind, ref.Namespace, ref.Name, err)}
	case data == nil:
		l.fail(field+"."+name, "there is no %s %s/%s", kind, ref.Namespace, ref.Name)
	case !there:
		l.fail(field+"."+name+".key", "the %s %s/%s has no key %q; it has %s", kind, ref.Namespace, ref.Name, ref.Key, keys(data))
	case strings.TrimSpace(text) == "":
		l.fail(field+"."+name+".key", "%q of the %s %s/%s is empty", ref.Key, kind, ref.Namespace, ref.Name)
	}
	return strings.TrimSpace(text)
}

// flag is a value that is true or false.
func (l *lookup) flag(field string, v *Var, env string) bool {
	text := l.value(field, v, env)
	if text == "" {
		return false
	}
	is, err := strconv.ParseBool(text)
	if err != nil {
		l.fail(field, "want true or false")
	}
	return is
}
