package manifest

import (
	"strings"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/spec/suggest"
)

// ssh reads how nodes are logged in to.
func (s scope) ssh(spec *api.ProviderSSH) *ssh.Hosts {
	const field = "spec.ssh"
	h := &ssh.Hosts{Addresses: spec.Addresses}
	h.User, h.Port, h.TrustFirst = spec.User, spec.Port, spec.TrustOnFirstUse
	if spec.Port < 0 || spec.Port > 65535 {
		s.fail(field+".port", "want a number from 1 to 65535, have %d", spec.Port)
	}
	if strings.ContainsAny(spec.User, " @:") {
		s.fail(field+".user", "want the name of a user such as root, have %q", suggest.Shortened(spec.User))
	}
	key, passphrase, ok := s.sshKey(field+".keySecretRef", spec.KeySecretRef)
	if ok && !strings.Contains(key, "PRIVATE KEY-----") {
		s.fail(field+".keySecretRef", "the Secret has no private key there, as ssh-keygen writes it")
	}
	h.Key, h.Passphrase = []byte(key), []byte(passphrase)
	h.KnownHosts = []byte(spec.KnownHosts)
	switch known := strings.TrimSpace(spec.KnownHosts) != ""; {
	case !known && !spec.TrustOnFirstUse:
		s.fail(field+".knownHosts", "is missing: a node is only talked to if its key is known; give what ssh-keyscan prints, or set trustOnFirstUse")
	case spec.TrustOnFirstUse && s.o.places == nil:
		s.fail(field+".trustOnFirstUse", "isn't for Kubernetes, where keys aren't remembered; give knownHosts")
	}
	return h
}

// sshKey finds the private key, and its passphrase.
func (s scope) sshKey(field string, ref api.SecretKeyRef) (key, passphrase string, ok bool) {
	o := s.find(field+".name", "Secret", ref.Name)
	if o == nil {
		return "", "", false
	}
	secret := o.Object.(*Secret)
	name := ref.Key
	if name == "" {
		name = "ssh-privatekey"
	}
	if key, ok = secret.Get(name); !ok {
		s.fail(field+".key", "Secret %s has no entry %s; it has %s", ref.Name, name, list(secret.keys()))
		return "", "", false
	}
	passphrase, _ = secret.Get("passphrase")
	return key, strings.TrimRight(passphrase, "\r\n"), true
}
