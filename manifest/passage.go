package manifest

import (
	"strings"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/spec"
)

// passage finds a text where a manifest says that it is. What isn't there is an error.
func (b *build) passage(field string, t api.Text) spec.Text {
	given := 0
	for _, is := range []bool{t.Inline != "", t.SecretRef != nil, t.ConfigMapRef != nil} {
		if is {
			given++
		}
	}
	at := func(part string) string { return strings.TrimPrefix(field, "spec.") + part }
	switch {
	case given == 0:
		b.fail(field, "has neither inline nor secretRef nor configMapRef")
		return spec.Text{}
	case given > 1:
		b.fail(field, "has several of inline, secretRef and configMapRef; choose one")
		return spec.Text{}
	case t.SecretRef != nil:
		return spec.Text{Content: b.entry(field+".secretRef", "Secret", t.SecretRef.Name, t.SecretRef.Key), Field: at(".secretRef"), Secret: true}
	case t.ConfigMapRef != nil:
		return spec.Text{Content: b.entry(field+".configMapRef", "ConfigMap", t.ConfigMapRef.Name, t.ConfigMapRef.Key), Field: at(".configMapRef")}
	}
	return spec.Text{Content: t.Inline, Field: at(".inline")}
}

// entries are what Secrets and ConfigMaps have in common.
type entries interface {
	Get(key string) (string, bool)
	keys() []string
}

// usualKeys are the entries that are taken when none is named.
var usualKeys = []string{"userData", "user-data", "userdata"}

// entry finds an entry of a Secret or ConfigMap. What isn't there is an error.
func (b *build) entry(field, kind, name, key string) string {
	o := b.find(field+".name", kind, name)
	if o == nil {
		return ""
	}
	if secret, ok := o.Object.(*Secret); ok && !b.checkSecret(field+".name", secret) {
		return ""
	}
	from := o.Object.(entries)
	keys, names := from.keys(), usualKeys
	switch {
	case key != "":
		names = []string{key}
	case len(keys) == 1:
		names = keys
	}
	for _, name := range names {
		if s, ok := from.Get(name); ok {
			return s
		}
	}
	if key != "" {
		b.fail(field+".key", "%s %s has no entry %s; it has %s", kind, name, key, list(keys))
	} else {
		b.fail(field+".key", "is missing: %s %s has %s", kind, name, list(keys))
	}
	return ""
}
