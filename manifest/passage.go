package manifest

import (
	"fmt"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/firstboot"
)

// passage is a text that was found where a manifest says that it is.
type passage struct {
	string
	field  string // that has it, or names where it is
	secret bool
}

// passage finds a text; false: there is none, which was told.
func (b *build) passage(field string, t api.Text) (passage, bool) {
	given := 0
	for _, is := range []bool{t.Inline != "", t.SecretRef != nil, t.ConfigMapRef != nil} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		b.fail(field, "has neither inline nor secretRef nor configMapRef")
		return passage{}, false
	case given > 1:
		b.fail(field, "has several of inline, secretRef and configMapRef; choose one")
		return passage{}, false
	case t.SecretRef != nil:
		s, ok := b.entry(field+".secretRef", "Secret", t.SecretRef.Name, t.SecretRef.Key)
		return passage{s, field + ".secretRef", true}, ok
	case t.ConfigMapRef != nil:
		s, ok := b.entry(field+".configMapRef", "ConfigMap", t.ConfigMapRef.Name, t.ConfigMapRef.Key)
		return passage{s, field + ".configMapRef", false}, ok
	}
	return passage{t.Inline, field + ".inline", false}, true
}

// entries are what Secrets and ConfigMaps have in common.
type entries interface {
	Get(key string) (string, bool)
	keys() []string
}

// usualKeys are the entries that are taken when none is named.
var usualKeys = []string{"userData", "user-data", "userdata"}

// entry finds an entry of a Secret or ConfigMap.
func (b *build) entry(field, kind, name, key string) (string, bool) {
	o := b.find(field+".name", kind, name)
	if o == nil {
		return "", false
	}
	if secret, ok := o.Object.(*Secret); ok && !b.checkSecret(field+".name", secret) {
		return "", false
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
			return s, true
		}
	}
	if key != "" {
		b.fail(field+".key", "%s %s has no entry %s; it has %s", kind, name, key, list(keys))
	} else {
		b.fail(field+".key", "is missing: %s %s has %s", kind, name, list(keys))
	}
	return "", false
}

// unsaid is all that is said of a text from a Secret: parsers repeat parts of it in their
// errors, quoted or not.
func unsaid(line int) string {
	const text = "it can't be read as what it should be; what is wrong isn't repeated, since it comes from a Secret; validate a copy of it in a file to see what"
	if line > 0 {
		return fmt.Sprintf("line %d: %s", line, text)
	}
	return text
}

// failText notes what is wrong with a text, each problem in the line where it is,
// as far as that is known. Of a Secret nothing is repeated.
func (b *build) failText(t passage, err error) {
	at := b.o.where(t.field)
	for _, p := range firstboot.TextErrorsOf(err) {
		at, wrong := at, p.Error()
		if at.text > 0 && p.Line > 0 {
			at.line = at.text + p.Line - 1
		}
		if t.secret {
			wrong = unsaid(p.Line)
		}
		b.wrongAt(at, t.field, wrong)
	}
}
