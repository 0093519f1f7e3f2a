package v1alpha1

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// otherwise are the fields whose schema isn't the original's on purpose, and why.
var otherwise = map[string]string{
	"ProxmoxNodeClass spec.bootDevice.size":            "a number without a unit would be bytes",
	"ProxmoxNodeClass spec.securityGroups[].interface": "the original's pattern takes any text with net0 in it",
	"ProxmoxTemplate spec.cpu.flags":                   "the original's page has a text, and its definition a list: both are taken",
	"ProxmoxTemplate spec.cpu.flags[]":                 "see spec.cpu.flags",
	"ProxmoxTemplate spec.sourceImage.url":             "the original takes no port, and no host without a dot",
}

// fieldsOf are the schemas of the fields below one, by their paths.
func fieldsOf(path string, s apiextensionsv1.JSONSchemaProps, all map[string]apiextensionsv1.JSONSchemaProps) {
	all[path] = s
	for name, field := range s.Properties {
		fieldsOf(path+"."+name, field, all)
	}
	if s.Items != nil && s.Items.Schema != nil {
		fieldsOf(path+"[]", *s.Items.Schema, all)
	}
}

// said is what a schema has of what the list of the original's fields says.
func said(s apiextensionsv1.JSONSchemaProps, attribute string) string {
	number := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	float := func(f *float64) string {
		if f == nil {
			return ""
		}
		return strconv.FormatFloat(*f, 'f', -1, 64)
	}
	switch attribute {
	case "default":
		if s.Default != nil {
			return string(s.Default.Raw)
		}
	case "enum":
		var values []string
		for _, v := range s.Enum {
			var text string
			_ = json.Unmarshal(v.Raw, &text) // all are texts
			values = append(values, text)
		}
		return strings.Join(values, ",")
	case "minimum":
		return float(s.Minimum)
	case "maximum":
		return float(s.Maximum)
	case "minLength":
		return number(s.MinLength)
	case "maxLength":
		return number(s.MaxLength)
	case "minItems":
		return number(s.MinItems)
	case "maxItems":
		return number(s.MaxItems)
	case "pattern":
		return s.Pattern
	}
	return ""
}

// Every field, default, value and column of the original's definitions is in ours: testdata/original.txt lists those of karpenter-provider-proxmox 0.12.0.
func TestTheDefinitionsHaveWhatTheOriginalsHave(t *testing.T) {
	list, err := os.ReadFile("testdata/original.txt")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../../deploy/crds/karpenter/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type kind struct {
		apiextensionsv1.CustomResourceDefinition
		fields  map[string]apiextensionsv1.JSONSchemaProps
		columns []string // that theirs has, too, in our order
	}
	kinds := map[string]*kind{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		k := &kind{fields: map[string]apiextensionsv1.JSONSchemaProps{}}
		if err := yaml.UnmarshalStrict(text, &k.CustomResourceDefinition); err != nil {
			t.Fatal(err)
		}
		fieldsOf("", *k.Spec.Versions[0].Schema.OpenAPIV3Schema, k.fields)
		kinds[k.Spec.Names.Kind] = k
	}
	looked := 0
	for line := range strings.Lines(string(list)) {
		parts := strings.Fields(line)
		k := kinds[parts[0]]
		if k == nil {
			t.Fatalf("there is no kind %s", parts[0])
		}
		path := parts[0] + " " + parts[1]
		looked++
		switch parts[1] {
		case "categories":
			if !slices.Contains(k.Spec.Names.Categories, parts[2]) {
				t.Errorf("%s is in %v", path, k.Spec.Names.Categories)
			}
			continue
		case "scope":
			if string(k.Spec.Scope) != parts[2] {
				t.Errorf("%s is %s", path, k.Spec.Scope)
			}
			continue
		case "column":
			// In the same order, and without -o wide.
			columns := k.Spec.Versions[0].AdditionalPrinterColumns
			at := len(k.columns)
			k.columns = append(k.columns, parts[2])
			if at >= len(columns) || columns[at].Name != parts[2] || columns[at].JSONPath != parts[3] || columns[at].Priority != 0 {
				t.Errorf("%s has not %s as its column %d", parts[0], parts[2], at)
			}
			continue
		}
		if otherwise[path] != "" {
			continue
		}
		s, there := k.fields["."+parts[1]]
		if !there {
			t.Errorf("there is no %s", path)
			continue
		}
		if s.Type != parts[2] {
			t.Errorf("%s is of type %s, want %s", path, s.Type, parts[2])
		}
		for _, a := range parts[3:] {
			name, want, _ := strings.Cut(a, "=")
			if name == "required" {
				parent := parts[1][:strings.LastIndexByte(parts[1], '.')]
				if field := parts[1][len(parent)+1:]; !slices.Contains(k.fields["."+parent].Required, field) {
					t.Errorf("%s isn't required", path)
				}
			} else if got := said(s, name); got != want {
				t.Errorf("%s has the %s %q, want %q", path, name, got, want)
			}
		}
	}
	const fields = 150
	if looked < fields {
		t.Errorf("only %d lines were looked at", looked)
	}
	// What ours have more: only optional fields.
	for name, k := range kinds {
		for path, s := range k.fields {
			for _, field := range s.Required {
				if line := fmt.Sprintf("%s %s.%s ", name, strings.TrimPrefix(path, "."), field); strings.HasPrefix(path, ".spec") && !strings.Contains(string(list), line) {
					t.Errorf("%s is required, and the original doesn't have it", line)
				}
			}
		}
	}
}
