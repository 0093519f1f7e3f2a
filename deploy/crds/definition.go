package crds

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// Definition is the definition of a kind.
type Definition struct {
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

// All are the definitions of all kinds, by name.
var All = sync.OnceValues(func() ([]*Definition, error) {
	files, err := fs.Glob(Files, "*.yaml")
	if err != nil {
		return nil, err
	}
	var all []*Definition
	for _, name := range files {
		text, err := Files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		d := &Definition{}
		if err := yaml.Unmarshal(text, d); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *Definition) int { return strings.Compare(a.Kind(), b.Kind()) })
	return all, nil
})

// Spec describes the fields below spec of a kind.
func Spec(kind string) (*Property, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if d.Kind() == kind {
			top := &Property{}
			err := d.Schema(top)
			return top.Properties["spec"], err
		}
	}
	return nil, fmt.Errorf("there is no kind %q", kind)
}

// Kind is the kind's name.
func (d *Definition) Kind() string { return d.Spec.Names.Kind }

// APIVersion is the API version of its objects.
func (d *Definition) APIVersion() string { return d.Spec.Group + "/" + d.Spec.Versions[0].Name }

// Schema reads the description of the kind's fields.
func (d *Definition) Schema(into any) error {
	return json.Unmarshal(d.Spec.Versions[0].Schema.OpenAPIV3Schema, into)
}
