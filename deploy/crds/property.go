package crds

import (
	"slices"
	"strings"
)

// Property is a part of a kind, as its definition describes it.
type Property struct {
	Description string               `json:"description"`
	Type        string               `json:"type"`
	Default     any                  `json:"default"`
	Enum        []any                `json:"enum"`
	Minimum     *float64             `json:"minimum"`
	Maximum     *float64             `json:"maximum"`
	Required    []string             `json:"required"`
	Properties  map[string]*Property `json:"properties"`
	Items       *Property            `json:"items"`
	Values      *Property            `json:"additionalProperties"`
	IntOrString bool                 `json:"x-kubernetes-int-or-string"`
	Pattern     string               `json:"pattern"`
}

// Fields returns the properties below a property; those of a list are its items'.
func (p *Property) Fields() map[string]*Property {
	switch {
	case p.Items != nil:
		return p.Items.Fields()
	case p.Values != nil && len(p.Properties) == 0:
		return p.Values.Fields()
	}
	return p.Properties
}

// Requires reports whether a field below must be given.
func (p *Property) Requires(name string) bool {
	switch {
	case p.Items != nil:
		return p.Items.Requires(name)
	case p.Values != nil && len(p.Properties) == 0:
		return p.Values.Requires(name)
	}
	return slices.Contains(p.Required, name)
}

// Text returns the description in one line; a list without one has that of its items.
func (p *Property) Text() string {
	if p.Description == "" && p.Items != nil {
		return p.Items.Text()
	}
	return strings.Join(strings.Fields(p.Description), " ")
}
