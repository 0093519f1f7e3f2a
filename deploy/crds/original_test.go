package crds_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// definitions reads those of a folder, by their kinds.
func definitions(t *testing.T, pattern string) map[string]*apiextensions.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal("no definitions", err)
	}
	all := map[string]*apiextensions.CustomResourceDefinition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range regexp.MustCompile(`(?m)^---$`).Split(string(text), -1) {
			var d apiextensions.CustomResourceDefinition
			if err := yaml.Unmarshal([]byte(doc), &d); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if d.Kind == "CustomResourceDefinition" {
				all[d.Spec.Names.Kind] = &d
			}
		}
	}
	return all
}

// moduleDir is where the source of a module is.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// Who has objects, scripts and habits of machine-controller finds the same names, columns and subresources.
func TestMachinesAreDefinedAsByMachineController(t *testing.T) {
	theirs := definitions(t, filepath.Join(moduleDir(t, "k8c.io/machine-controller"), "examples", "machine-controller.yaml"))
	ours := definitions(t, "machines/*.yaml")
	if len(theirs) != 3 || len(ours) != len(theirs) {
		t.Fatalf("there are %d definitions, and %d of machine-controller", len(ours), len(theirs))
	}
	for kind, their := range theirs {
		our := ours[kind]
		if our == nil {
			t.Errorf("there is no %s", kind)
			continue
		}
		if diff := cmp.Diff(their.Spec.Names, our.Spec.Names); diff != "" {
			t.Errorf("%s: names (-theirs +ours):\n%s", kind, diff)
		}
		if our.Spec.Group != their.Spec.Group || our.Spec.Scope != their.Spec.Scope || len(our.Spec.Versions) != len(their.Spec.Versions) {
			t.Errorf("%s: %s %s, %d versions", kind, our.Spec.Group, our.Spec.Scope, len(our.Spec.Versions))
		}
		want, have := their.Spec.Versions[0], our.Spec.Versions[0]
		if have.Name != want.Name || have.Served != want.Served || have.Storage != want.Storage {
			t.Errorf("%s: version %s served %v storage %v", kind, have.Name, have.Served, have.Storage)
		}
		if scale := have.Subresources; scale != nil && scale.Scale != nil {
			scale.Scale.LabelSelectorPath = nil // autoscalers ask for it, and the original has none
		}
		if diff := cmp.Diff(want.Subresources, have.Subresources); diff != "" {
			t.Errorf("%s: subresources (-theirs +ours):\n%s", kind, diff)
		}
		columns := slices.DeleteFunc(slices.Clone(have.AdditionalPrinterColumns), func(c apiextensions.CustomResourceColumnDefinition) bool { return c.Name == "Phase" }) // with -o wide
		if diff := cmp.Diff(want.AdditionalPrinterColumns, columns); diff != "" {
			t.Errorf("%s: columns (-theirs +ours):\n%s", kind, diff)
		}
		kept(t, kind, have.Schema.OpenAPIV3Schema)
	}
}

// kept holds that fields that aren't declared are kept, as by the original, which declares none.
func kept(t *testing.T, path string, s *apiextensions.JSONSchemaProps) {
	t.Helper()
	if s.Type == "object" && s.AdditionalProperties == nil && (s.XPreserveUnknownFields == nil || !*s.XPreserveUnknownFields) {
		t.Errorf("%s: fields that aren't declared are dropped", path)
	}
	for name, field := range s.Properties {
		kept(t, path+"."+name, &field)
	}
}

// different are fields of karpenter-provider-proxmox that aren't the same here, with the reason.
var different = map[string]string{
	"ProxmoxNodeClass.spec":                          "it has fields that must be there",
	"ProxmoxNodeClass.spec.bootDevice.size":          "a number of bytes makes no sense",
	"ProxmoxNodeClass.spec.securityGroups.interface": "the whole text has to match",
	"ProxmoxTemplate.spec":                           "it has fields that must be there",
	"ProxmoxTemplate.spec.cpu.flags":                 "a text, as on the original's page, or a list",
	"ProxmoxTemplate.spec.sourceImage.url":           "hosts without a dot and ports are taken, too",
	"ProxmoxUnmanagedTemplate.spec":                  "it has fields that must be there",
}

// original is what karpenter-provider-proxmox's definitions say, a line a field.
func original(t *testing.T) (kinds []*originalKind) {
	t.Helper()
	f, err := os.Open("testdata/karpenter-provider-proxmox.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var path []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimRight(lines.Text(), " ")
		switch {
		case strings.HasPrefix(line, "===== "):
			words := strings.Fields(line)
			kinds = append(kinds, &originalKind{group: words[1], kind: words[2], scope: words[3], fields: map[string]string{}})
		case strings.HasPrefix(line, "cols "):
			for _, c := range regexp.MustCompile(`\('([^']*)', '([^']*)'\)`).FindAllStringSubmatch(line, -1) {
				kinds[len(kinds)-1].columns = append(kinds[len(kinds)-1].columns, [2]string{c[1], c[2]})
			}
		case strings.HasPrefix(line, "version "):
		default:
			name, about, _ := strings.Cut(strings.TrimLeft(line, " "), ":")
			depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
			path = append(path[:depth], name)
			kinds[len(kinds)-1].order = append(kinds[len(kinds)-1].order, strings.Join(path, "."))
			kinds[len(kinds)-1].fields[strings.Join(path, ".")] = strings.TrimSpace(about)
		}
	}
	return kinds
}

type originalKind struct {
	group, kind, scope string
	columns            [][2]string
	order              []string
	fields             map[string]string // by path, what is said of them
}

// Who has objects of karpenter-provider-proxmox finds all fields, with the same types, defaults and limits.
func TestEveryFieldOfTheKarpenterProviderIsThere(t *testing.T) {
	ours := definitions(t, "karpenter/*.yaml")
	checked := 0
	for _, k := range original(t) {
		our := ours[k.kind]
		if our == nil {
			t.Errorf("there is no %s", k.kind)
			continue
		}
		if our.Spec.Group != k.group || string(our.Spec.Scope) != k.scope || !slices.Contains(our.Spec.Names.Categories, "karpenter") {
			t.Errorf("%s: %s %s %v", k.kind, our.Spec.Group, our.Spec.Scope, our.Spec.Names.Categories)
		}
		v := our.Spec.Versions[0]
		if v.Name != "v1alpha1" || !v.Served || !v.Storage || v.Subresources == nil || v.Subresources.Status == nil {
			t.Errorf("%s: %+v", k.kind, v)
		}
		for _, want := range k.columns {
			if !slices.ContainsFunc(v.AdditionalPrinterColumns, func(c apiextensions.CustomResourceColumnDefinition) bool {
				return c.Name == want[0] && c.JSONPath == want[1]
			}) {
				t.Errorf("%s: no column %s", k.kind, want)
			}
		}
		for _, path := range k.order {
			checked++
			name := k.kind + "." + path
			field, required := at(v.Schema.OpenAPIV3Schema, path)
			switch {
			case field == nil:
				t.Errorf("%s: there is no such field", name)
			case different[name] == "":
				if diff := cmp.Diff(constraints(k.fields[path]), said(field, required, k.fields[path])); diff != "" {
					t.Errorf("%s (-theirs +ours):\n%s", name, diff)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d fields were compared", checked)
	}
}

// at is the field of a path, and whether it must be there.
func at(s *apiextensions.JSONSchemaProps, path string) (field *apiextensions.JSONSchemaProps, required bool) {
	for name := range strings.SplitSeq(path, ".") {
		if s.Items != nil {
			s = s.Items.Schema
		}
		next, there := s.Properties[name]
		if !there {
			return nil, false
		}
		required = slices.Contains(s.Required, name)
		s = &next
	}
	return s, required
}

// constraint is a word of the listing such as minLength=1.
var constraint = regexp.MustCompile(`(\w+)=(\[[^\]]*\]|\{[^}]*\}|\S+)`)

// constraints are what a line says about a field.
func constraints(about string) map[string]string {
	words := strings.Fields(about)
	out := map[string]string{"type": words[0]}
	if slices.Contains(words, "REQ") {
		out["REQ"] = ""
	}
	before, rule, hasRule := strings.Cut(about, "CEL=")
	if hasRule {
		out["CEL"] = strings.Join(strings.Fields(strings.NewReplacer("( ", "(", " )", ")").Replace(rule)), " ")
	}
	for _, m := range constraint.FindAllStringSubmatch(before, -1) {
		out[m[1]] = m[2]
	}
	if list, ok := out["enum"]; ok {
		out["enum"] = sorted(strings.Split(strings.NewReplacer("[", "", "]", "", "'", "").Replace(list), ", "))
	}
	return out
}

func sorted(values []string) string {
	slices.Sort(values)
	return strings.Join(values, ", ")
}

// said is the same of our field, as far as the line of theirs speaks of it: further limits, such as lengths that rules in CEL need, are ours.
func said(s *apiextensions.JSONSchemaProps, required bool, about string) map[string]string {
	out := map[string]string{"type": s.Type}
	switch {
	case s.Items != nil:
		out["type"] = "[]" + s.Items.Schema.Type
	case s.AdditionalProperties != nil:
		out["type"] = "map[string]intOrString"
	case s.Format != "":
		out["type"] += "/" + s.Format
	}
	if required {
		out["REQ"] = ""
	}
	all := map[string]any{
		"minLength": s.MinLength, "maxLength": s.MaxLength, "minItems": s.MinItems, "maxItems": s.MaxItems, "minimum": s.Minimum, "maximum": s.Maximum, "pattern": s.Pattern,
	}
	if s.Default != nil {
		all["default"] = python(string(s.Default.Raw))
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, python(string(v.Raw)))
		}
		all["enum"] = sorted(values)
	}
	for _, m := range constraint.FindAllStringSubmatch(strings.Split(about, "CEL=")[0], -1) {
		b, err := json.Marshal(all[m[1]])
		if err != nil {
			panic(err) // texts and numbers
		}
		out[m[1]] = strings.Trim(string(b), `"`)
		if text, ok := all[m[1]].(string); ok {
			out[m[1]] = text
		}
	}
	if strings.Contains(about, "CEL=") {
		var rules []string
		for _, r := range s.XValidations {
			rules = append(rules, r.Rule)
		}
		out["CEL"] = strings.Join(rules, "; ")
	}
	return out
}

// python writes a value in JSON as the listing does.
func python(value string) string {
	var v any
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		return value
	}
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case map[string]any:
		var parts []string
		for k, of := range v {
			parts = append(parts, fmt.Sprintf("'%s': '%v'", k, of))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return value
}
