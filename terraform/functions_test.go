package terraform

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

const flatcar = "variant: flatcar\nversion: 1.1.0\nstorage:\n  files:\n    - path: /etc/id\n      contents: {inline: \"${vm_name} is ${vm_id} of ${site}\"}\n"

// call runs a function.
func call(t *testing.T, f function.Function, args ...attr.Value) (string, string) {
	t.Helper()
	var def function.DefinitionResponse
	f.Definition(context.Background(), function.DefinitionRequest{}, &def)
	fixed := len(def.Definition.Parameters)
	given := append([]attr.Value{}, args[:fixed]...)
	if def.Definition.VariadicParameter != nil {
		list, kinds := []attr.Value{}, []attr.Type{}
		for _, a := range args[fixed:] {
			list, kinds = append(list, types.DynamicValue(a)), append(kinds, types.DynamicType)
		}
		given = append(given, types.TupleValueMust(kinds, list))
	}
	resp := function.RunResponse{Result: function.NewResultData(types.StringUnknown())}
	f.Run(context.Background(), function.RunRequest{Arguments: function.NewArgumentsData(given)}, &resp)
	if resp.Error != nil {
		return "", resp.Error.Error()
	}
	return resp.Result.Value().(types.String).ValueString(), ""
}

func textMap(m map[string]string) attr.Value {
	v, _ := types.MapValueFrom(context.Background(), types.StringType, m)
	return v
}

// objectValue is an object whose attributes are of whatever type they are.
func objectValue(m map[string]attr.Value) attr.Value {
	kinds := map[string]attr.Type{}
	for name, v := range m {
		kinds[name] = v.Type(context.Background())
	}
	return types.ObjectValueMust(kinds, m)
}

func tuple(list ...string) attr.Value {
	v, _ := types.ListValueFrom(context.Background(), types.StringType, list)
	return v
}

func TestButaneMakesWhatMachinesGet(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "motd"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	snippet := "variant: flatcar\nversion: 1.1.0\nstorage:\n  files:\n    - path: /etc/motd\n      contents: {local: motd}\n"
	variables := textMap(map[string]string{"vm_id": "104", "vm_name": "web-1", "site": "home"})
	out, wrong := call(t, butaneFunction{}, types.StringValue(flatcar), objectValue(map[string]attr.Value{"snippets": tuple(snippet), "folder": types.StringValue(folder), "variables": variables}))
	if wrong != "" {
		t.Fatal(wrong)
	}
	for _, want := range []string{"/etc/id", "web-1%20is%20104%20of%20home", "/etc/motd", "hello"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q isn't in %s", want, out)
		}
	}
	for want, options := range map[string]map[string]attr.Value{
		"uses ${vm_id}, which variables don't have":               {"variables": textMap(map[string]string{"vm_name": "web"})},
		"variables.vm_id: want a VMID, have \"x\"":                {"variables": textMap(map[string]string{"vm_id": "x"})},
		"snippet: there is no such option":                        {"snippet": tuple(snippet)},
		"snippets[1]: line 1, column 1: variant is missing":       {"variables": variables, "folder": types.StringValue(folder), "snippets": tuple(snippet, "version: 1.1.0\n")},
		"variables: want a map of texts":                          {"variables": tuple("a")},
		"folder: want the path of a directory":                    {"folder": tuple("a")},
		"snippets: want a list of Butane configs":                 {"snippets": types.StringValue("a")},
		"there is no variable vm_label; there are vm_id, vm_name": {"variables": textMap(map[string]string{"vm_id": "104", "vm_name": "a"}), "snippets": tuple("variant: flatcar\nversion: 1.1.0\n# ${vm_label}")},
	} {
		if _, wrong := call(t, butaneFunction{}, types.StringValue(flatcar), objectValue(options)); !strings.Contains(wrong, want) {
			t.Errorf("%v is told as %q, want %q", options, wrong, want)
		}
	}
}

func TestCloudConfigsAreJoined(t *testing.T) {
	base := "#cloud-config\npackages: [nginx]\nwrite_files:\n- {path: /a}\napt: {a: 1, b: 2}\n"
	more := objectValue(map[string]attr.Value{
		"packages": tuple("git"), "package_update": types.BoolValue(true), "swap": types.NumberNull(),
		"apt": objectValue(map[string]attr.Value{"b": types.Int64Value(3)}),
	})
	out, wrong := call(t, cloudConfigFunction{}, types.StringValue(base), more)
	if wrong != "" {
		t.Fatal(wrong)
	}
	want := "#cloud-config\napt:\n    a: 1\n    b: 3\npackage_update: true\npackages:\n    - nginx\n    - git\nwrite_files:\n    - path: /a\n"
	if out != want {
		t.Errorf("have %s", out)
	}
	for want, part := range map[string]attr.Value{
		"it doesn't begin with #cloud-config":                 types.StringValue("#!/bin/sh\n"),
		"want keys and values, or the text of a cloud-config": types.BoolValue(true),
	} {
		if _, wrong := call(t, cloudConfigFunction{}, part); !strings.Contains(wrong, want) {
			t.Errorf("told %q, want %q", wrong, want)
		}
	}
}

func TestAMACIsThatOfOneSet(t *testing.T) {
	one, _ := call(t, macFunction{}, types.StringValue("shop"), types.StringValue("web-1"), types.StringValue("lan"))
	other, _ := call(t, macFunction{}, types.StringValue("blog"), types.StringValue("web-1"), types.StringValue("lan"))
	if one == other || len(one) != 17 {
		t.Errorf("have %s and %s", one, other)
	}
	if _, wrong := call(t, macFunction{}, types.StringValue("shop"), types.StringValue(" "), types.StringValue("lan")); !strings.Contains(wrong, "want a name") {
		t.Error(wrong)
	}
}
