package manifest

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Connection is the connection to a Proxmox cluster.
type Connection struct {
	Endpoints   []string
	TLS         pve.TLS
	Credentials pve.Credentials
	SSH         *ssh.Hosts // nil: nodes can't be logged in to
	Keys        model.Keys // sign markers; none: they aren't signed
}

// Config returns the configuration of a client.
func (c Connection) Config() pve.Config {
	return pve.Config{Endpoints: c.Endpoints, TLS: c.TLS, Credentials: c.Credentials}
}

// Errors of [Environment].
var (
	ErrNoEndpoint    = errors.New("no Proxmox is named: set PVE_ENDPOINT, or give a manifest with a Provider")
	ErrNoCredentials = errors.New("no credentials are given: set PVE_TOKEN_ID and PVE_TOKEN_SECRET, or PVE_USERNAME and PVE_PASSWORD")
)

// Environment returns the connection in environment variables, for use without a Provider.
// For getenv and readFile see [Options].
func Environment(getenv func(string) string, readFile func(string) ([]byte, error)) (Connection, error) {
	c := Connection{}
	v := variables{getenv: getenv, readFile: readFile}
	if e := v.endpoint(); e != "" {
		c.Endpoints = splitEndpoints(e)
	}
	if len(c.Endpoints) == 0 {
		return c, ErrNoEndpoint
	}
	var err error
	if c.Credentials, err = v.credentials(); err != nil {
		return c, err
	}
	if c.Credentials.IsZero() {
		return c, ErrNoCredentials
	}
	if c.TLS.CA, err = v.ca(); err != nil {
		return c, err
	}
	c.TLS.Fingerprints = v.fingerprints()
	if c.Keys, err = v.keys(); err != nil {
		return c, err
	}
	c.TLS.Insecure, err = v.insecure()
	return c, err
}

// variables are environment variables, of a Provider or of the process.
type variables struct {
	field    string // where they stand; empty: outside of the manifests
	getenv   func(string) string
	readFile func(string) ([]byte, error)
}

// first gives the first of the variables that is set.
func (v variables) first(names ...string) string {
	if v.getenv == nil {
		return ""
	}
	for _, name := range names {
		if value := strings.TrimSpace(v.getenv(name)); value != "" {
			return value
		}
	}
	return ""
}

func (v variables) endpoint() string { return v.first("PVE_ENDPOINT", "PROXMOX_VE_ENDPOINT") }

// credentials are what the variables say, if anything.
func (v variables) credentials() (pve.Credentials, error) {
	id, secret := v.first("PVE_TOKEN_ID"), v.first("PVE_TOKEN_SECRET")
	user, password := v.first("PVE_USERNAME", "PROXMOX_VE_USERNAME"), v.first("PVE_PASSWORD", "PROXMOX_VE_PASSWORD")
	both := v.first("PROXMOX_VE_API_TOKEN")
	switch {
	case id != "" || secret != "":
		return tokenOf(id, secret, "PVE_TOKEN_ID", "PVE_TOKEN_SECRET")
	case both != "":
		c, err := pve.ParseToken(both)
		if err != nil {
			return c, fmt.Errorf("PROXMOX_VE_API_TOKEN: %w", err)
		}
		return c, nil
	case user != "" || password != "":
		return passwordOf(user, password, "PVE_USERNAME", "PVE_PASSWORD")
	}
	return pve.Credentials{}, nil
}

// tokenOf checks an API token; the names are of where its parts come from.
func tokenOf(id, secret, idName, secretName string) (pve.Credentials, error) {
	user, name, _ := strings.Cut(id, "!")
	switch {
	case id == "":
		return pve.Credentials{}, fmt.Errorf("there is %s, but no %s", secretName, idName)
	case name == "" || !strings.Contains(user, "@"):
		return pve.Credentials{}, fmt.Errorf("%s should look like user@realm!name", idName)
	case secret == "":
		return pve.Credentials{}, fmt.Errorf("there is %s, but no %s", idName, secretName)
	}
	return pve.Token(id, secret), nil
}

func passwordOf(user, password, userName, passwordName string) (pve.Credentials, error) {
	switch {
	case user == "":
		return pve.Credentials{}, fmt.Errorf("there is %s, but no %s", passwordName, userName)
	case !strings.Contains(user, "@"):
		return pve.Credentials{}, fmt.Errorf("%s should have a realm, like root@pam", userName)
	case password == "":
		return pve.Credentials{}, fmt.Errorf("there is %s, but no %s", userName, passwordName)
	}
	return pve.Password(user, password), nil
}

// ca is the bundle that PVE_CA_BUNDLE holds, or the file that it names.
func (v variables) ca() ([]byte, error) {
	text := v.first("PVE_CA_BUNDLE")
	if text == "" || strings.Contains(text, "-----BEGIN") {
		return []byte(text), nil
	}
	read := v.readFile
	if read == nil {
		read = func(string) ([]byte, error) { return nil, os.ErrPermission }
	}
	b, err := read(text)
	if err != nil {
		if looksLikeFile(text) {
			return nil, fmt.Errorf("PVE_CA_BUNDLE: %w", NotRead(text, err))
		}
		return nil, NotRead("the file that PVE_CA_BUNDLE names", err) // which may be no name at all, but a secret
	}
	return b, nil
}

// looksLikeFile reports whether a text is the name of a file rather than something that was put
// in its place by mistake, and may be secret.
func looksLikeFile(text string) bool {
	const most = 300
	if len(text) > most || strings.ContainsAny(text, "\n\r") {
		return false
	}
	for _, end := range []string{".pem", ".crt", ".cer", ".ca"} {
		if strings.HasSuffix(text, end) {
			return true
		}
	}
	return strings.HasPrefix(text, "/") || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../")
}

// keyFile is the variable that names the file with the keys that sign markers.
const keyFile = "PROXPLANE_MARKER_KEY_FILE"

// keys are those in the file that PROXPLANE_MARKER_KEY_FILE names.
func (v variables) keys() (model.Keys, error) {
	name := v.first(keyFile)
	if name == "" || v.readFile == nil {
		return nil, nil
	}
	b, err := v.readFile(name)
	if err != nil {
		return nil, NotRead("the file that "+keyFile+" names", err)
	}
	keys, err := model.ParseKeys(string(b))
	if err != nil {
		return nil, fmt.Errorf("the file that %s names: %w", keyFile, err)
	}
	return keys, nil
}

// fingerprints are those of certificates to trust.
func (v variables) fingerprints() []string { return splitComma(v.first("PVE_FINGERPRINT")) }

func (v variables) insecure() (bool, error) {
	text := v.first("PVE_INSECURE_SKIP_VERIFY", "PROXMOX_VE_INSECURE")
	switch strings.ToLower(text) {
	case "":
		return false, nil
	case "1":
		return true, nil
	case "0":
		return false, nil
	}
	b, ok := parseBool(text)
	if !ok {
		return false, fmt.Errorf("PVE_INSECURE_SKIP_VERIFY: want true or false, have %q", suggest.Shortened(text))
	}
	return b, nil
}

// splitComma splits a list at commas.
// splitEndpoints are several URLs, separated by commas or spaces.
func splitEndpoints(text string) []string {
	return splitComma(strings.Join(strings.Fields(text), ","))
}

func splitComma(text string) []string {
	var all []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}
