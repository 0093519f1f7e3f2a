package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/spec"
)

// allowance returns what a Provider allows its machines and images to use. In files,
// whoever writes machines has the login as well, so a Provider without `allow` allows
// everything: nil.
func (s scope) allowance(p *api.Provider) *api.ProviderAllow {
	if p.Spec.Allow != nil || s.o.places != nil {
		return p.Spec.Allow
	}
	return &api.ProviderAllow{}
}

// allowOf is the same for machines and images; Secrets are looked at here, see
// [scope.checkSecret].
func allowOf(a *api.ProviderAllow) *spec.Allow {
	if a == nil {
		return nil
	}
	return &spec.Allow{
		Sources: a.Sources, Pools: a.Pools, Storages: a.Storages, Networks: a.Networks, Paths: a.Paths, Hookscripts: a.Hookscripts, ExtraConfig: a.ExtraConfig,
	}
}

// checkSecret checks that a Secret may be handed to a guest.
func (b *build) checkSecret(field string, secret *Secret) bool {
	p := b.provider
	if p.allow == nil {
		return true
	}
	why := b.credentials(secret)
	switch sel := p.allow.Secrets; {
	case sel != nil && hasLabels(secret, sel.MatchLabels):
		return true
	case sel != nil:
		b.forbidden(field, fmt.Sprintf("Provider %s doesn't allow to hand Secret %s to a guest; whoever may change the Secret can label it as spec.allow.secrets of the Provider asks: %s",
			p.cluster.Name, secret.Name, labelText(sel.MatchLabels)))
	case why != "":
		b.forbidden(field, fmt.Sprintf("Secret %s %s, and isn't handed to a guest; whoever may change Provider %s can allow it with spec.allow.secrets.matchLabels and a label of the Secret", secret.Name, why, p.cluster.Name))
	default:
		return true
	}
	return false
}

// credentials says why a Secret is a credential; empty: it isn't known to be one.
func (b *build) credentials(secret *Secret) string {
	for _, o := range b.set.objects {
		if p, ok := o.Object.(*api.Provider); ok && p.Namespace == secret.Namespace && slices.Contains(LoginsOf(p), secret.Name) {
			return "is the login of Provider " + p.Name
		}
	}
	for _, key := range []string{"token_secret", "marker_key"} {
		if _, ok := secret.Get(key); ok {
			return "has " + key + " as logins of Providers do"
		}
	}
	group, _, _ := strings.Cut(secret.Type, "/")
	if group == "kubernetes.io" || strings.HasSuffix(group, ".kubernetes.io") || group == "helm.sh" {
		return "is a credential, of type " + secret.Type
	}
	return ""
}

// LoginsOf returns the names of the Secrets that a Provider uses as logins.
func LoginsOf(p *api.Provider) []string {
	var names []string
	if ref := p.Spec.CredentialSecretRef; ref != nil {
		names = append(names, ref.Name)
	}
	if ssh := p.Spec.SSH; ssh != nil {
		names = append(names, ssh.KeySecretRef.Name)
	}
	return names
}

func hasLabels(secret *Secret, labels map[string]string) bool {
	for name, value := range labels {
		if have, ok := secret.Labels[name]; !ok || have != value {
			return false
		}
	}
	return len(labels) > 0
}

func labelText(labels map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, name+"="+labels[name])
	}
	return strings.Join(all, ",")
}

// Allows formats what a Provider allows for people, one line for each list; empty: everything.
func Allows(allow *api.ProviderAllow) []string {
	if allow == nil {
		return nil
	}
	lines := []string{}
	say := func(what string, list []string, otherwise string) {
		switch {
		case list == nil:
			lines = append(lines, what+": "+otherwise)
		case len(list) == 0:
			lines = append(lines, what+": none")
		default:
			lines = append(lines, what+": "+strings.Join(list, ", "))
		}
	}
	say("sources", allow.Sources, "every template, URL and ISO image; no VM that isn't a template")
	say("pools", allow.Pools, "any")
	say("storages", allow.Storages, "any")
	say("networks", allow.Networks, "any")
	say("host directories", allow.Paths, "none")
	say("hookscripts", allow.Hookscripts, "none")
	say("extraConfig", allow.ExtraConfig, "all but args, hookscript and what reaches the host")
	if allow.Secrets == nil {
		return append(lines, "Secrets for guests: all but credentials")
	}
	return append(lines, "Secrets for guests: those labelled "+labelText(allow.Secrets.MatchLabels))
}
