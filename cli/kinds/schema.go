package kinds

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/deploy/crds"
)

// NewSchema returns the command `proxplane schema`.
func NewSchema(u *ui.UI) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON Schema of manifests, for editors",
		Long: `Print the JSON Schema (draft 7) of manifests: with it, editors complete fields, show
what they mean and mark mistakes while you type. It is made from the same types as
the custom resource definitions. With a KIND, print the schema of that kind alone.

Visual Studio Code and every editor with yaml-language-server read the file named
in a manifest's first line:

  # yaml-language-server: $schema=proxplane.schema.json`,
		Example: `  proxplane schema > proxplane.schema.json
  proxplane schema vm > virtualmachine.schema.json`,
		Args:              command.Takes(0, 1),
		ValidArgsFunction: completeKindNames,
		RunE: func(_ *cobra.Command, args []string) error {
			var kind string
			if len(args) > 0 {
				kind = args[0]
			}
			s, err := jsonSchema(kind)
			if err != nil {
				return err
			}
			return ui.WriteJSON(u.Out, s)
		},
	}
}

func completeKindNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	all, err := crds.All()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, d := range all {
		words = append(words, d.Kind())
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

const draft = "http://json-schema.org/draft-07/schema#"

// jsonSchema is the schema of a kind of manifests; empty: of all of them.
func jsonSchema(kind string) (map[string]any, error) {
	if kind != "" {
		d, err := FindDefinition(kind)
		if err != nil {
			return nil, err
		}
		s, err := kindSchema(d)
		if err != nil {
			return nil, err
		}
		s["$schema"], s["title"] = draft, d.Kind()
		return s, nil
	}
	all, err := crds.All()
	if err != nil {
		return nil, err
	}
	var names []any
	var cases []any
	defs := map[string]any{}
	add := func(kind string, s map[string]any) {
		names, defs[kind] = append(names, kind), s
		cases = append(cases, map[string]any{
			"if":   map[string]any{"properties": map[string]any{"kind": map[string]any{"const": kind}}},
			"then": map[string]any{"$ref": "#/definitions/" + kind},
		})
	}
	for _, d := range all {
		s, err := kindSchema(d)
		if err != nil {
			return nil, err
		}
		add(d.Kind(), s)
	}
	for _, kind := range []string{"ConfigMap", "Secret"} {
		add(kind, coreSchema(kind))
	}
	return map[string]any{
		"$schema": draft, "title": "Manifests of proxplane", "type": "object", "required": []any{"apiVersion", "kind", "metadata"},
		"properties":  map[string]any{"kind": map[string]any{"enum": names}},
		"allOf":       cases,
		"definitions": defs,
	}, nil
}

// kindSchema is the schema of one kind.
func kindSchema(d *crds.Definition) (map[string]any, error) {
	var s map[string]any
	if err := d.Schema(&s); err != nil {
		return nil, err
	}
	for key := range s {
		if strings.HasPrefix(key, "x-") {
			delete(s, key)
		}
	}
	fields, ok := s["properties"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s has no fields", d.Kind())
	}
	for _, p := range fields {
		tighten(p)
	}
	delete(fields, "status") // Kubernetes writes it
	fields["apiVersion"] = map[string]any{"const": d.APIVersion()}
	fields["kind"] = map[string]any{"const": d.Kind()}
	fields["metadata"] = metadataSchema()
	fields["status"] = map[string]any{"description": "Written by the operator; the command line ignores it."}
	s["required"] = []any{"apiVersion", "kind", "metadata"}
	s["additionalProperties"] = false
	return s, nil
}

// tighten makes a JSON Schema of a part of a custom resource definition: Kubernetes
// drops fields that it doesn't know, and proxplane refuses them.
func tighten(part any) {
	s, ok := part.(map[string]any)
	if !ok {
		return
	}
	anything := s["x-kubernetes-preserve-unknown-fields"] == true
	if s["x-kubernetes-int-or-string"] == true {
		// The pattern is for the text; a number has none.
		delete(s, "anyOf")
		s["type"] = []any{"integer", "string"}
	}
	for key := range s {
		if strings.HasPrefix(key, "x-") {
			delete(s, key)
		}
	}
	fields, isObject := s["properties"].(map[string]any)
	for _, p := range fields {
		tighten(p)
	}
	tighten(s["items"])
	tighten(s["additionalProperties"])
	if isObject && !anything && s["additionalProperties"] == nil {
		s["additionalProperties"] = false
	}
}

func metadataSchema() map[string]any {
	text := map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}
	return map[string]any{
		"type": "object", "required": []any{"name"},
		"properties": map[string]any{
			"name":        map[string]any{"type": "string", "description": "Name of the object, unique among those of its kind."},
			"namespace":   map[string]any{"type": "string", "description": "Namespace in Kubernetes. References are looked for in the same one."},
			"labels":      text,
			"annotations": text,
		},
	}
}

// coreSchema is the schema of one of Kubernetes' own kinds, as far as it is read.
func coreSchema(kind string) map[string]any {
	text := map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}
	fields := map[string]any{
		"apiVersion": map[string]any{"const": "v1"}, "kind": map[string]any{"const": kind}, "metadata": metadataSchema(),
		"immutable": map[string]any{"type": "boolean"}, "data": text,
	}
	if kind == "Secret" {
		fields["stringData"], fields["type"] = text, map[string]any{"type": "string"}
	} else {
		fields["binaryData"] = text
	}
	return map[string]any{"type": "object", "required": []any{"apiVersion", "kind", "metadata"}, "properties": fields, "additionalProperties": false}
}
