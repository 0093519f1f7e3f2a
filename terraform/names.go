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
	word   = regexp.MustCompile(`"[^"]*"|[/-]?[A-Za-z]+`) // what is quoted, and parts of other names, aren't fields
	setsTo = regexp.MustCompile(`([a-z_]+(?:\.[a-z_]+)+): ([A-Z][a-z]+)`)
)

// ourWords is a description with fields by the names that they have here: "staticIP.fromPool" is
// static_ip.from_pool, and "updatePolicy.move: Allow" is update_policy.move = "Allow".
func ourWords(text string) string {
	return here.Replace(setsTo.ReplaceAllString(attributesIn(strings.TrimSpace(text)), `$1 = "$2"`))
}

// attributesIn is a text of the core with fields by the names that they have here: "powerState is Off" is power_state is Off.
func attributesIn(text string) string {
	names := fieldNames()
	return word.ReplaceAllStringFunc(text, func(w string) string {
		if name, ok := names[strings.ToLower(w)]; ok && strings.ToLower(w[1:]) != w[1:] {
			return name
		}
		return w
	})
}

// here is what descriptions say about other doors, and what is so here.
var here = strings.NewReplacer(
	" In Kubernetes it can't be changed later.", " For another one, take the snapshot anew.",
	": in Kubernetes it can't be changed later.", ", and can't be changed later.",
	"Default: 60 in Kubernetes, 0 on the command line.", "Default: 0.",
	", as in VMClass.", ", as in class.storage.",
	"of all machines of the same VMClass, in all namespaces and Providers (for the command line: in all manifests that it reads), and of those that one object with a count stands for.",
	"of all machines of this configuration with the same class, and of the replicas of one resource.",
	"Folder beside the manifest. It isn't for manifests inside Kubernetes.", "Folder with them.",
	" \"snippets\" puts anything onto that drive, by snippets that are copied to all nodes that may run the machine; it needs spec.ssh of the Provider.", "",
	"see Provider.networks", "see networks in the provider's block",
	"by the network's name in Provider.networks", "by the network's name in the provider's block",
	"else the Provider's,", "else that of the provider's block,",
	"that of the network in the Provider,", "that of the network in the provider's block,",
	"those of the Provider.", "those of the provider's block.",
	"Default: the Provider's.", "Default: that of the provider's block.",
	"one of the Provider's range that follows from the object", "one of vmid_range in the provider's block that follows from the name",
	"their labels in spec.nodes of the Provider", "their labels in nodes of the provider's block",
)

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
