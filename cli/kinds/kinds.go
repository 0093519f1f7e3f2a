// Package kinds has the commands about the kinds of manifests: explain, schema and validate.
package kinds

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/deploy/crds"
	"github.com/proxplane/proxplane/spec/suggest"
)

// property is a part of a kind, as its definition in Kubernetes describes it.
type property struct {
	Description string               `json:"description"`
	Type        string               `json:"type"`
	Default     any                  `json:"default"`
	Enum        []any                `json:"enum"`
	Minimum     *float64             `json:"minimum"`
	Maximum     *float64             `json:"maximum"`
	Required    []string             `json:"required"`
	Properties  map[string]*property `json:"properties"`
	Items       *property            `json:"items"`
	Values      *property            `json:"additionalProperties"`
	IntOrString bool                 `json:"x-kubernetes-int-or-string"`
	Pattern     string               `json:"pattern"`
}

// definition is a kind of manifests.
type definition struct {
	Spec struct {
		Group string
		Names struct {
			Kind, Plural, Singular string
			ShortNames             []string
		}
		Versions []struct {
			Name   string
			Schema struct {
				OpenAPIV3Schema json.RawMessage `json:"openAPIV3Schema"`
			}
		}
	}
}

func (d *definition) Kind() string { return d.Spec.Names.Kind }

func (d *definition) apiVersion() string { return d.Spec.Group + "/" + d.Spec.Versions[0].Name }

// schema reads the description of the kind's fields.
func (d *definition) schema(into any) error {
	return json.Unmarshal(d.Spec.Versions[0].Schema.OpenAPIV3Schema, into)
}

// names are the words that a kind goes by.
func (d *definition) names() []string {
	n := d.Spec.Names
	words := append([]string{n.Kind, n.Singular, n.Plural}, n.ShortNames...)
	for _, w := range []string{n.Singular, n.Plural} {
		if short, ok := strings.CutPrefix(w, "vm"); ok {
			words = append(words, short)
		}
	}
	switch n.Kind {
	case "VirtualMachine":
		words = append(words, "vms")
	case "VMPlacementPolicy":
		words = append(words, "policy", "policies")
	}
	return words
}

// definitions are all kinds, by name.
var definitions = sync.OnceValues(func() ([]*definition, error) {
	files, err := fs.Glob(crds.Files, "*.yaml")
	if err != nil {
		return nil, err
	}
	var all []*definition
	for _, name := range files {
		text, err := crds.Files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		d := &definition{}
		if err := yaml.Unmarshal(text, d); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *definition) int { return strings.Compare(a.Kind(), b.Kind()) })
	return all, nil
})

// FindDefinition is the kind that a word stands for.
func FindDefinition(word string) (*definition, error) {
	all, err := definitions()
	if err != nil {
		return nil, err
	}
	var kinds, words []string
	for _, d := range all {
		if slices.ContainsFunc(d.names(), func(n string) bool { return strings.EqualFold(n, word) }) {
			return d, nil
		}
		kinds, words = append(kinds, d.Kind()), append(words, d.names()...)
	}
	if near, ok := suggest.Nearest(word, words); ok {
		return nil, ui.Advise(fmt.Errorf("there is no kind %q", word), "Did you mean "+near+"?")
	}
	return nil, ui.Advise(fmt.Errorf("there is no kind %q", word), "Kinds are "+strings.Join(kinds, ", ")+".")
}
