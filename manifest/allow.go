package manifest

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/firstboot/hookblock"
	"github.com/proxplane/proxplane/pve/prop"
)

// allowance is what a Provider says that its machines and images may use. In files,
// whoever writes machines has the login as well, and a Provider that says nothing
// allows everything: nil.
func (s scope) allowance(p *api.Provider) *api.ProviderAllow {
	if p.Spec.Allow != nil || s.o.places != nil {
		return p.Spec.Allow
	}
	return &api.ProviderAllow{}
}

// checkAllowance checks what a Provider allows.
func (s scope) checkAllowance(p *provider) {
	if p.allow == nil {
		return
	}
	for i, dir := range p.allow.Paths {
		if !strings.HasPrefix(dir, "/") || path.Clean(dir) != dir || dir == "/" {
			s.fail(fmt.Sprintf("spec.allow.paths[%d]", i), "want a directory of the hosts such as /srv/data, have %q", shortened(dir))
		}
	}
	for i, name := range p.allow.Networks {
		if _, ok := p.network(name); !ok && name != "*" {
			s.fail(fmt.Sprintf("spec.allow.networks[%d]", i), "no bridge is known for a network named %q; name one in spec.networks", shortened(name))
		}
	}
	if sel := p.allow.Secrets; sel != nil && len(sel.MatchLabels) == 0 {
		s.fail("spec.allow.secrets.matchLabels", "is missing: which labels Secrets have that guests may get")
	}
}

// forbid notes that the Provider doesn't allow what a field asks for, and what would
// allow it.
func (s scope) forbid(p *provider, field, what, list, entry string) {
	s.forbidden(field, fmt.Sprintf("Provider %s doesn't allow %s; whoever may change the Provider can allow it with spec.allow.%s: [%s]", p.name, what, list, strconv.Quote(entry)))
}

// allows reports whether a list has a text; one that isn't given has all.
func allows(list []string, text string) bool {
	return list == nil || slices.ContainsFunc(list, func(pattern string) bool { return matches(pattern, text) })
}

// matches reports whether a pattern, in which * is any text, is a text.
func matches(pattern, text string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, last)
}

// checkAllowed checks that a machine uses nothing that its Provider doesn't allow. Its
// source and the Secrets of its first-boot data are checked where they are found.
func (b *build) checkAllowed(m *api.MachineSpec, nics []nic) {
	p := b.provider
	if p.allow == nil {
		return
	}
	switch {
	case p.allow.Pools == nil:
	case m.Pool == "":
		b.forbidden("spec.pool", fmt.Sprintf("is missing: Provider %s allows machines only in pools, %s", p.name, strings.Join(p.allow.Pools, ", ")))
	case !allows(p.allow.Pools, m.Pool):
		b.forbid(p, "spec.pool", "pool "+m.Pool, "pools", m.Pool)
	}
	b.checkStorages(m)
	for _, n := range nics {
		b.checkNIC(n)
	}
	for i, f := range m.Filesystems {
		if !slices.Contains(p.allow.Paths, f.Source) {
			b.forbid(p, fmt.Sprintf("spec.filesystems[%d].source", i), "to share the host directory "+f.Source, "paths", f.Source)
		}
	}
	for i, script := range m.Hookscripts {
		if p.allow.Hookscripts == nil || !allows(p.allow.Hookscripts, script) {
			b.forbid(p, fmt.Sprintf("spec.hookscripts[%d]", i), "hookscript "+script, "hookscripts", script)
		}
	}
	if block, _, err := hookblock.Parse(m.Description); err != nil || !block.IsZero() {
		b.forbidden("spec.description", "has a block for proxplane's hook, which isn't allowed there: spec.filesystems and spec.hookscripts are for that")
	}
	b.checkExtra("spec.extraConfig.", "", m.ExtraConfig)
	b.checkExtra("spec.classRef.name", "VMClass "+b.classKey.Name+" with ", b.class.extra)
}

// checkStorages checks where a machine says that its disks are.
func (b *build) checkStorages(m *api.MachineSpec) {
	check := func(field, storage, of string) {
		if !b.provider.allowsStorage(storage) {
			b.forbid(b.provider, field, of+"storage "+storage, "storages", storage)
		}
	}
	check("spec.classRef.name", b.class.storage, "VMClass "+b.classKey.Name+" with ")
	for i, d := range m.Disks {
		check(fmt.Sprintf("spec.disks[%d].storage", i), d.Storage, "")
	}
}

// allowsStorage reports whether a storage may be named; the Provider's own default may.
func (p *provider) allowsStorage(name string) bool {
	return p.allow == nil || name == "" || name == p.spec.Defaults.Storage || allows(p.allow.Storages, name)
}

// checkNIC checks which bridge and VLAN an interface is on.
func (b *build) checkNIC(n nic) {
	p := b.provider
	if p.allow.Networks == nil || n.Bridge == "" {
		return
	}
	for _, name := range p.allow.Networks {
		if known, ok := p.network(name); name == "*" || ok && known.Bridge == n.Bridge && known.VLAN == n.VLAN {
			return
		}
	}
	what := "bridge " + n.Bridge
	if n.VLAN != 0 {
		what += fmt.Sprintf(" with VLAN %d", n.VLAN)
	}
	if known, ok := p.network(n.Name); ok && known.Bridge == n.Bridge && known.VLAN == n.VLAN {
		b.forbid(p, n.field, what, "networks", n.Name)
		return
	}
	b.forbidden(n.field, fmt.Sprintf("Provider %s doesn't allow %s; whoever may change the Provider can give it a name in spec.networks, and allow that with spec.allow.networks", p.name, what))
}

// checkExtra checks options that are named as Proxmox does.
func (b *build) checkExtra(field, of string, extra map[string]string) {
	p := b.provider
	for _, key := range sortedKeys(extra) {
		at := field
		if of == "" {
			at += key
		}
		ok := allows(p.allow.ExtraConfig, key)
		if ofHost(key, extra[key]) {
			ok = slices.ContainsFunc(p.allow.ExtraConfig, func(pattern string) bool { return pattern != "*" && matches(pattern, key) })
		}
		if !ok {
			b.forbid(p, at, of+"the option "+key, "extraConfig", key)
		}
	}
}

// ofHost reports whether an option gives a guest something of its host, by more than a
// mapping that Proxmox asks a right of its own for.
func ofHost(key, value string) bool {
	switch family := strings.TrimRight(key, "0123456789"); family {
	case "args", "hookscript", "virtiofs":
		return value != ""
	case "hostpci":
		return prop.Properties(key, value)["mapping"] == ""
	case "usb":
		host := prop.Properties(key, value)["host"]
		return host != "" && host != "spice"
	case "serial", "parallel":
		return strings.HasPrefix(value, "/")
	}
	return false
}

// forbiddenSource says what a Provider doesn't allow about an image; empty: nothing.
func (i *image) forbiddenSource(p *provider) (field, what, list, entry string) {
	if p == nil || p.allow == nil {
		return "", "", "", ""
	}
	field, source, kind := "spec.source", i.spec.Source, "source "
	switch {
	case i.spec.URL != "":
		field, source, kind = "spec.url", i.spec.URL, "the URL "
	case i.spec.ISO != "":
		field, source, kind = "spec.iso", i.isoVolume(p), "the ISO image "
	}
	storage := i.spec.Storage
	if name, _, ok := strings.Cut(source, ":"); ok && i.spec.ISO != "" {
		storage = name
	}
	switch {
	case !allows(p.allow.Sources, source):
		return field, kind + shortened(source), "sources", source
	case !p.allowsStorage(storage) && (i.spec.ISO == "" || storage != p.isoStorage()):
		return "spec.storage", "storage " + storage, "storages", storage
	}
	return "", "", "", ""
}

// onlyTemplates reports whether images may be templates only, and no other VMs: their
// disks may be anybody's.
func (p *provider) onlyTemplates() bool { return p.allow != nil && p.allow.Sources == nil }

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
			p.name, secret.Name, labelText(sel.MatchLabels)))
	case why != "":
		b.forbidden(field, fmt.Sprintf("Secret %s %s, and isn't handed to a guest; whoever may change Provider %s can allow it with spec.allow.secrets.matchLabels and a label of the Secret", secret.Name, why, p.name))
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

// LoginsOf are the names of the Secrets that a Provider logs in with.
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
	for _, name := range sortedKeys(labels) {
		all = append(all, name+"="+labels[name])
	}
	return strings.Join(all, ",")
}

// Allows says in one line a list what a Provider allows, for people; empty: everything.
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
