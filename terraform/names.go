package terraform

import (
	"regexp"
	"strings"
	"sync"

	"github.com/proxplane/proxplane/deploy/crds"
	"github.com/proxplane/proxplane/manifest/draft"
)

// snake is the name of a field as Terraform writes it.
func snake(name string) string { return draft.Attribute(name) }

var (
	word   = regexp.MustCompile(`[A-Za-z]+`)
	setsTo = regexp.MustCompile(`([a-z_]+(?:\.[a-z_]+)+): ([A-Z][a-z]+)`)
)

// ourWords is a description with fields by the names that they have here: "staticIP.fromPool" is
// static_ip.from_pool, and "updatePolicy.move: Allow" is update_policy.move = "Allow".
func ourWords(text string) string {
	names := fieldNames()
	text = word.ReplaceAllStringFunc(strings.TrimSpace(text), func(w string) string {
		if name, ok := names[strings.ToLower(w)]; ok && strings.ToLower(w[1:]) != w[1:] {
			return name
		}
		return w
	})
	return setsTo.ReplaceAllString(text, `$1 = "$2"`)
}

// fieldNames are the names here of all fields that are called otherwise in manifests, by those in
// small letters.
var fieldNames = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	var add func(p *crds.Property)
	add = func(p *crds.Property) {
		if p == nil {
			return
		}
		for key, of := range p.Properties {
			if snake(key) != key {
				names[strings.ToLower(key)] = snake(key)
			}
			add(of)
		}
		add(p.Items)
		add(p.Values)
	}
	all, err := crds.All()
	if err != nil {
		panic(err) // the definitions are part of this program
	}
	for _, d := range all {
		spec, err := crds.Spec(d.Kind())
		if err != nil {
			panic(err)
		}
		add(spec)
	}
	return names
})
