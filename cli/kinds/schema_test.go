package kinds

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
)

// schemaOf is the schema of a kind, ready to check with.
func schemaOf(t *testing.T, kind string) *validate.SchemaValidator {
	t.Helper()
	all, err := jsonSchema("")
	if err != nil {
		t.Fatal(err)
	}
	def, ok := all["definitions"].(map[string]any)[kind]
	if !ok {
		t.Fatalf("there is no schema of %s", kind)
	}
	text, err := json.Marshal(def)
	if err != nil {
		t.Fatal(err)
	}
	s := &spec.Schema{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	return validate.NewSchemaValidator(s, nil, "", strfmt.Default)
}

// What can be applied isn't marked as wrong by an editor.
func TestTheSchemaTakesEveryExample(t *testing.T) {
	checked := map[string]int{}
	err := filepath.WalkDir("../../examples", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for doc := range bytes.SplitSeq(text, []byte("\n---")) {
			var object map[string]any
			if err := yaml.Unmarshal(doc, &object); err != nil || object["kind"] == nil {
				continue // comments only, or a file that isn't a manifest
			}
			if version, _ := object["apiVersion"].(string); version != "v1" && !strings.HasPrefix(version, "infra.virtrigaud.io/") {
				continue // an object of another door, which Kubernetes checks
			}
			kind := object["kind"].(string)
			checked[kind]++
			if result := schemaOf(t, kind).Validate(object); !result.IsValid() {
				t.Errorf("%s: %s: %v", path, kind, result.AsError())
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked["VirtualMachine"] < 5 || len(checked) < 7 {
		t.Errorf("only %v were checked", checked)
	}
}

func TestTheSchemaMarksMistakes(t *testing.T) {
	machine := func(specLines string) map[string]any {
		var object map[string]any
		text := "apiVersion: infra.virtrigaud.io/v1beta1\nkind: VirtualMachine\nmetadata: {name: web}\nspec:\n  classRef: {name: small}\n" + specLines
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	s := schemaOf(t, "VirtualMachine")
	if r := s.Validate(machine("  disks: [{name: root, size: 40Gi}]\n")); !r.IsValid() {
		t.Errorf("without a mistake: %v", r.AsError())
	}
	for mistake, want := range map[string]string{
		"  disk: []\n": "disk",
		"  disks: [{name: root, size: 40Gi, x: 1}]": "x",
		"  disks: [{size: 40Gi}]\n":                 "name",
		"  disks: [{name: d, bus: pci}]\n":          "bus",
	} {
		r := s.Validate(machine(mistake))
		if r.IsValid() || !strings.Contains(r.AsError().Error(), want) {
			t.Errorf("%q is valid, or the error says nothing of %s: %v", mistake, want, r.AsError())
		}
	}
}

// Every field of the types is in the definitions that explain reads: it can be
// asked for by its path.
func TestEveryFieldCanBeExplained(t *testing.T) {
	for kind, typ := range map[string]reflect.Type{
		"VirtualMachine": reflect.TypeFor[api.VirtualMachineSpec](), "VMClass": reflect.TypeFor[api.VMClassSpec](), "VMImage": reflect.TypeFor[api.VMImageSpec](),
		"VMClone": reflect.TypeFor[api.VMCloneSpec](), "VMSnapshot": reflect.TypeFor[api.VMSnapshotSpec](), "Provider": reflect.TypeFor[api.ProviderSpec](),
		"VMPlacementPolicy": reflect.TypeFor[api.VMPlacementPolicySpec](),
	} {
		fields := 0
		eachField(typ, kind+".spec", nil, func(path string) {
			fields++
			if _, err := findField(path); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		})
		if fields < 3 {
			t.Errorf("%s: only %d fields were found", kind, fields)
		}
	}
}

func eachField(t reflect.Type, path string, above []reflect.Type, do func(string)) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || !strings.Contains(t.PkgPath(), "proxplane") || slices.Contains(above, t) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch name {
		case "-":
			continue
		case "":
			eachField(f.Type, path, append(above, t), do)
			continue
		}
		do(path + "." + name)
		eachField(f.Type, path+"."+name, append(above, t), do)
	}
}
