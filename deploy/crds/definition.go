package crds

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
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

// parsed are the definitions of Files as JSON, one a line: reading YAML takes twenty times as long, which each command
// and each start of the Terraform provider would wait for. It is in a folder of its own since kubectl applies all of this one.
//
//go:embed parsed/definitions.json
var parsed []byte

// All are the definitions of all kinds, by name.
var All = sync.OnceValues(func() ([]*Definition, error) {
	var all []*Definition
	for lines := json.NewDecoder(bytes.NewReader(parsed)); lines.More(); {
		d := &Definition{}
		if err := lines.Decode(d); err != nil {
			return nil, fmt.Errorf("read the definitions of kinds: %w", err)
		}
		all = append(all, d)
	}
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

// Kind returns the kind's name.
func (d *Definition) Kind() string { return d.Spec.Names.Kind }

// APIVersion returns the API version of its objects.
func (d *Definition) APIVersion() string { return d.Spec.Group + "/" + d.Spec.Versions[0].Name }

// Schema reads the description of the kind's fields.
func (d *Definition) Schema(into any) error {
	return json.Unmarshal(d.Spec.Versions[0].Schema.OpenAPIV3Schema, into)
}
