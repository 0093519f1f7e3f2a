package written_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"golang.org/x/tools/txtar"

	"github.com/proxplane/proxplane/terraform/written"
)

// machine is a schema in small.
var machine = tftypes.Object{AttributeTypes: map[string]tftypes.Type{
	"name":      tftypes.String,
	"class":     tftypes.Object{AttributeTypes: map[string]tftypes.Type{"cpus": tftypes.Number, "spec": tftypes.Object{AttributeTypes: map[string]tftypes.Type{"bios": tftypes.String}}}},
	"networks":  tftypes.List{ElementType: tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String, "vlan": tftypes.Number}}},
	"labels":    tftypes.Map{ElementType: tftypes.String},
	"variables": tftypes.Map{ElementType: tftypes.Object{AttributeTypes: map[string]tftypes.Type{"x": tftypes.String}}},
}}

func TestMisspeltNamesAreFound(t *testing.T) {
	schema := written.Schema{Name: "proxplane", Provider: written.ShapeOf(machine), Blocks: map[string]written.Shape{
		"resource.proxplane_vm": written.ShapeOf(machine), "data.proxplane_vms": written.ShapeOf(machine),
	}}
	archive, err := txtar.ParseFile("testdata/unknown.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range archive.Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var have strings.Builder
	for _, f := range written.Unknown(filepath.Join(dir, "root"), schema) {
		fmt.Fprintf(&have, "%s (%v)\n", strings.ReplaceAll(f.String(), dir+string(filepath.Separator), ""), f.Sure)
	}
	if want := string(archive.Comment); have.String() != want {
		t.Errorf("have\n%s\nwant\n%s", have.String(), want)
	}
}

// A folder that isn't a configuration has nothing to be found.
func TestWhatIsNoConfigurationHasNoFindings(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"broken.tf": "resource {", "loop.tf": "locals {\n a = local.a\n}\nprovider \"proxplane\" {\n class = local.a\n}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	schema := written.Schema{Name: "proxplane", Provider: written.ShapeOf(machine)}
	if list := append(written.Unknown(dir, schema), written.Unknown(filepath.Join(dir, "none"), schema)...); len(list) > 0 {
		t.Errorf("found %v", list)
	}
}
