package manifest

import (
	"fmt"
	"strings"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/spec/suggest"
)

// provider is a Provider with what is wanted of it.
type provider struct {
	cluster spec.Cluster       // its name is empty: it is of the environment
	allow   *api.ProviderAllow // nil: everything
	wanted  Wanted
}

func (t *translator) readProviders() {
	each(t, func(s scope, p *api.Provider) {
		s.checkName()
		one := s.provider(p)
		before := len(t.errs)
		s.checkPools(one)
		s.misguides(one, before)
		t.providers = append(t.providers, one)
	})
	v := variables{getenv: t.options.Getenv}
	if len(t.providers) > 0 || v.endpoint() == "" {
		return
	}
	c, err := Environment(t.options.Getenv, t.options.ReadFile)
	if err != nil {
		t.errs = append(t.errs, &Error{Text: err.Error()})
	}
	t.providers = append(t.providers, &provider{
		cluster: spec.Cluster{Range: spec.DefaultRange, Nodes: splitComma(v.first("PVE_NODE_SELECTOR"))}, wanted: Wanted{Provider: model.Key{Kind: "Provider"}, Connection: c},
	})
}

func (s scope) provider(obj *api.Provider) *provider {
	before := len(s.errs)
	p := &provider{allow: s.allowance(obj), wanted: Wanted{Provider: s.o.key}}
	p.wanted.Allow = p.allow
	p.cluster = spec.Cluster{Name: obj.Name, Range: spec.DefaultRange, Defaults: spec.Defaults(obj.Spec.Defaults), Networks: spec.Networks{}, SSH: obj.Spec.SSH != nil, Allow: allowOf(p.allow)}
	p.cluster.Facts = s.nodeFacts(obj)
	for name, n := range obj.Spec.Networks {
		p.cluster.Networks[name] = spec.ClusterNetwork{Bridge: n.Bridge, VLAN: n.VLAN, MTU: n.MTU, Firewall: n.Firewall, Pool: (*spec.Pool)(n.Pool)}
	}
	if typ := obj.Spec.Type; typ != "" && typ != "proxmox" {
		s.fail("spec.type", "want proxmox, have %q", suggest.Shortened(typ))
	}
	if r := obj.Spec.VMIDRange; r != nil {
		if p.cluster.Range = model.Range(*r); *r == (api.VMIDRange{}) {
			s.fail("spec.vmidRange", "want first and last from %d to %d, have 0 to 0", spec.MinVMID, spec.MaxVMID)
		}
	}
	if a := p.allow; a != nil && a.Secrets != nil && len(a.Secrets.MatchLabels) == 0 {
		s.fail("spec.allow.secrets.matchLabels", "is missing: which labels Secrets have that guests may get")
	}
	s.take(p.cluster.Check(), nil, nil)
	s.misguides(p, before)
	p.wanted.Networks, p.wanted.Nodes = p.cluster.Networks, p.cluster.Facts
	s.connect(p, obj)
	if obj.Spec.SSH != nil {
		p.wanted.Connection.SSH = s.ssh(obj.Spec.SSH)
	}
	return p
}

// misguides notes that errors since some are about what machines get from the Provider.
func (s scope) misguides(p *provider, before int) {
	if p.wanted.Wrong == "" && len(s.errs) > before {
		e := s.errs[before]
		p.wanted.Wrong = strings.TrimPrefix(e.Field+": "+e.Text, ": ")
	}
}

// connect works out how the Provider is reached: by what it says itself, then by
// its own variables, then by those of the process.
func (s scope) connect(p *provider, obj *api.Provider) {
	own, process := s.ownVariables(obj), variables{getenv: s.options.Getenv, readFile: s.options.ReadFile}
	c := &p.wanted.Connection

	if obj.Spec.Endpoint != "" {
		c.Endpoints = []string{obj.Spec.Endpoint}
	}
	c.Endpoints = append(c.Endpoints, obj.Spec.Endpoints...)
	for _, v := range []variables{own, process} {
		if len(c.Endpoints) == 0 {
			c.Endpoints = splitEndpoints(v.endpoint())
		}
	}
	if len(c.Endpoints) == 0 {
		s.fail("spec.endpoint", "is missing; it is a URL like https://pve.example.com:8006")
	}
	for i, e := range c.Endpoints {
		if strings.ContainsAny(e, " \t") || strings.Contains(e, "@") {
			s.fail("spec.endpoint", "endpoint %d isn't a URL like https://pve.example.com:8006", i+1) // it may hold a password
		}
	}

	p.cluster.Nodes = obj.Spec.NodeSelector
	for _, v := range []variables{own, process} {
		if len(p.cluster.Nodes) == 0 {
			p.cluster.Nodes = splitComma(v.first("PVE_NODE_SELECTOR"))
		}
	}
	secret := s.credentials(c, obj, own, process)
	s.markerKeys(c, secret, process)
	s.trust(c, obj, secret, own, process)
}

func (s scope) ownVariables(obj *api.Provider) variables {
	env := map[string]string{}
	if r := obj.Spec.Runtime; r != nil {
		for i, e := range r.Env {
			if e.Name == "" {
				s.fail(fmt.Sprintf("spec.runtime.env[%d].name", i), "is missing")
			}
			env[e.Name] = e.Value
		}
		if r.Image != "" || r.Mode != "" || r.ImagePullPolicy != "" || r.Version != "" || r.Replicas != nil {
			s.tell("spec.runtime", "says how to run inside Kubernetes; of that, only env has an effect here")
		}
	}
	return variables{field: "spec.runtime.env", getenv: func(name string) string { return env[name] }, readFile: s.options.ReadFile}
}

// credentials come from the Secret, if it has any, else from the variables. The
// Secret may have the CA only.
func (s scope) credentials(c *Connection, obj *api.Provider, own, process variables) *Secret {
	var secret *Secret
	if obj.Spec.CredentialSecretRef != nil {
		const field = "spec.credentialSecretRef.name"
		o := s.find(field, "Secret", obj.Spec.CredentialSecretRef.Name)
		if o == nil {
			return nil
		}
		secret = o.Object.(*Secret)
		creds, err := secretCredentials(secret)
		if err != nil {
			s.fail(field, "Secret %s: %v", secret.Name, err)
			return secret
		}
		c.Credentials = creds
	}
	for _, v := range []variables{own, process} {
		if !c.Credentials.IsZero() {
			return secret
		}
		creds, err := v.credentials()
		if err != nil {
			s.fail(v.field, "%v", err)
			return secret
		}
		c.Credentials = creds
	}
	switch {
	case !c.Credentials.IsZero():
	case secret != nil:
		s.fail("spec.credentialSecretRef.name", "Secret %s has neither token_id and token_secret nor username and password%s", secret.Name, hasOnly(secret))
	default:
		s.fail("spec.credentialSecretRef", "is missing, and the environment has neither PVE_TOKEN_ID and PVE_TOKEN_SECRET nor PVE_USERNAME and PVE_PASSWORD")
	}
	return secret
}

// markerKeys come from the Secret, else from the file that the environment names.
func (s scope) markerKeys(c *Connection, secret *Secret, process variables) {
	var err error
	if secret != nil {
		if text, ok := secret.Get("marker_key"); ok {
			if c.Keys, err = model.ParseKeys(text); err != nil {
				s.fail("spec.credentialSecretRef.name", "Secret %s: marker_key: %v", secret.Name, err)
			}
			return
		}
	}
	if c.Keys, err = process.keys(); err != nil {
		s.fail("spec.credentialSecretRef.name", "%v", err)
	}
}

func hasOnly(secret *Secret) string {
	if keys := secret.keys(); len(keys) > 0 {
		return ", only " + list(keys)
	}
	return "; it is empty"
}

func secretCredentials(secret *Secret) (pve.Credentials, error) {
	get := func(key string) string {
		v, _ := secret.Get(key)
		return strings.TrimSpace(v)
	}
	id, token, user := get("token_id"), get("token_secret"), get("username")
	password, _ := secret.Get("password")
	switch {
	case id != "" || token != "":
		return tokenOf(id, token, "token_id", "token_secret")
	case user != "" || password != "":
		return passwordOf(user, strings.TrimRight(password, "\r\n"), "username", "password")
	}
	return pve.Credentials{}, nil
}

// trust says whose certificates are good. The process' environment is asked only where
// the manifest says nothing about it.
func (s scope) trust(c *Connection, obj *api.Provider, secret *Secret, own, process variables) {
	c.TLS.Fingerprints = splitComma(obj.Spec.Fingerprint)
	if secret != nil {
		if ca, ok := secret.Get("ca.crt"); ok && strings.TrimSpace(ca) != "" {
			c.TLS.CA = []byte(ca)
		}
	}
	c.TLS.Insecure = obj.Spec.InsecureSkipVerify
	for i, v := range []variables{own, process} {
		insecure, err := v.insecure()
		if err != nil {
			s.fail(v.field, "%v", err)
		}
		if i > 0 && (c.TLS.Insecure || len(c.TLS.CA) > 0 || len(c.TLS.Fingerprints) > 0) {
			break
		}
		if len(c.TLS.CA) == 0 {
			ca, err := v.ca()
			if err != nil {
				s.fail(v.field, "%v", err)
			}
			c.TLS.CA = ca
		}
		if len(c.TLS.Fingerprints) == 0 {
			c.TLS.Fingerprints = v.fingerprints()
		}
		c.TLS.Insecure = c.TLS.Insecure || insecure
	}
	if c.TLS.Insecure && (len(c.TLS.CA) > 0 || len(c.TLS.Fingerprints) > 0) {
		s.fail("spec.insecureSkipVerify", "trusting any certificate makes no sense beside a CA or a fingerprint; leave one of them out")
	}
}

// providerFor finds the Provider of an object.
func (s scope) providerFor(ref *api.Ref) *provider {
	const field = "spec.providerRef"
	if ref == nil {
		switch len(s.providers) {
		case 1:
			return s.providers[0]
		case 0:
			if s.o.places == nil {
				s.fail(field, "there is no Provider %s", s.here())
			} else {
				s.fail(field, "there is no Provider in these manifests, and PVE_ENDPOINT isn't set")
			}
		default:
			s.fail(field, "is missing: there are several Providers, %s", list(s.providerNames()))
		}
		return nil
	}
	if s.find(field+".name", "Provider", ref.Name) == nil {
		return nil
	}
	for _, p := range s.providers {
		if p.cluster.Name == ref.Name && p.wanted.Provider.Namespace == s.o.key.Namespace {
			return p
		}
	}
	return nil
}

func (t *translator) providerNames() []string {
	var names []string
	for _, p := range t.providers {
		names = append(names, p.cluster.Name)
	}
	return names
}
