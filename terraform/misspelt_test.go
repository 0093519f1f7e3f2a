package terraform_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/proxplane/proxplane/terraform"
)

// A misspelt name in an object, which Terraform drops without a word, is an error of the provider.
func TestMisspeltNamesInObjectsAreRefused(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	server, err := providerserver.NewProtocol6WithError(terraform.New("test")())()
	if err != nil {
		t.Fatal(err)
	}
	all, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	kind := all.Provider.ValueType()
	empty, err := tfprotov6.NewDynamicValue(kind, valueOf(kind, values{}))
	if err != nil {
		t.Fatal(err)
	}
	validate := func(text string) said {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		resp, err := server.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: &empty})
		if err != nil {
			t.Fatal(err)
		}
		return told(resp.Diagnostics)
	}
	const machine = "resource \"proxplane_virtual_machine\" \"web\" {\n  name = \"web\"\n  class = { cpus = 2, memory = \"1Gi\" }\n  networks = [{ name = \"lan\", vlan = 5 }]\n  timeouts = { create = \"5m\" }\n}\n"
	for have, want := range map[string]string{
		`{ cpus = 2`:      "",
		`{ cpu_count = 2`: "ERROR: Unsupported nested attribute: main.tf:3: proxplane_virtual_machine.web: class.cpu_count: known are ",
		`{ cpuss = 2`:     "class.cpuss: did you mean cpus?",
	} {
		out := validate(strings.Replace(machine, "{ cpus = 2", have, 1))
		if out.failed != (want != "") || !strings.Contains(out.text, want) {
			t.Errorf("%s: nothing says %q:\n%s", have, want, out)
		}
	}
	if out := validate(strings.ReplaceAll(machine, "vlan =", "vlna =")); !strings.Contains(out.text, "networks[0].vlna: did you mean vlan?") {
		t.Errorf("a list of objects isn't looked at:\n%s", out)
	}
	if out := validate("locals {\n  class = { cpuss = 2 }\n}\n" + strings.Replace(machine, "{ cpus = 2, memory = \"1Gi\" }", "local.class", 1)); out.failed || !strings.Contains(out.text, "WARNING: A nested attribute has no effect: main.tf:2") {
		t.Errorf("a local isn't followed:\n%s", out)
	}
}

// Of two provider blocks, each is a process of its own: two machines of one name aren't noticed when planning.
func TestProviderBlocksWithOneSetAreTold(t *testing.T) {
	const one = "provider \"proxplane\" {\n  set = \"one\"\n}\n"
	for text, want := range map[string]string{
		one: "",
		one + strings.Replace(one, "set", "alias = \"b\"\n  set", 1):                                                         "Two provider blocks have one set: main.tf:1 and main.tf:4: set = \"one\"",
		one + strings.Replace(one, `set = "one"`, `alias = "b"`+"\n  set = \"two\"", 1):                                      "",
		one + strings.Replace(one, `set = "one"`, `alias = "b"`+"\n  set = \"one\"\n  endpoint = \"https://other:8006\"", 1): "",
		one + strings.Replace(one, `set = "one"`, `alias = "b"`+"\n  set = var.set", 1):                                      "",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir)
		server, err := providerserver.NewProtocol6WithError(terraform.New("test")())()
		if err != nil {
			t.Fatal(err)
		}
		all, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
		if err != nil {
			t.Fatal(err)
		}
		kind := all.Provider.ValueType()
		empty, err := tfprotov6.NewDynamicValue(kind, valueOf(kind, values{}))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: &empty})
		if err != nil {
			t.Fatal(err)
		}
		if out := told(resp.Diagnostics); out.failed || !strings.Contains(out.text, want) || want == "" && out.text != "" {
			t.Errorf("%s\nwant %q, have %q", text, want, out)
		}
	}
}

// Of manifests, it is said in which line of which object something is wrong, also by what needs the provider's block.
func TestWrongManifestsAreToldWithTheirLines(t *testing.T) {
	c := start(t)
	const web = `apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 2, memory: 2Gi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: web}
spec:
  classRef: {name: small}
  disks: [{name: root, size: 8Gi}]
  networks: [{name: lan, bridge: vmbr0}]
`
	for text, want := range map[string]string{
		strings.Replace(web, "bridge:", "bridg:", 1):                               "yaml:12: VirtualMachine web: spec.networks[0].bridg: there is no such field",
		strings.Replace(web, "classRef: {name: small", "classRef: {name: smal", 1): "yaml:10: VirtualMachine web: spec.classRef",
	} {
		if _, said := c.plan(c.none("proxplane_manifest"), values{"name": "all", "yaml": text}); !said.failed || !strings.Contains(said.text, want) {
			t.Errorf("want %q, have %s", want, said)
		}
	}
}

// What is worth knowing about a resource is said in the words of its attributes.
func TestNotesNameAttributes(t *testing.T) {
	c := start(t)
	_, said := c.plan(c.none("proxplane_virtual_machine"), values{"name": "web", "class": values{"cpus": 1, "memory": "1Gi"}, "image": values{"source": "ubuntu-22-template"}, "extra_config": values{"args": "-s"}})
	if !strings.Contains(said.text, "web: extra_config.args: only root@pam itself") || strings.Contains(said.text, "spec.") {
		t.Error(said)
	}
}

// What is wrong with a configuration is said when planning, by the names that its attributes have: never by those of manifests.
func TestWrongValuesAreToldByTheirAttributes(t *testing.T) {
	c := start(t)
	for _, wrong := range []struct {
		kind string
		more values
		want string
	}{
		{"proxplane_virtual_machine", values{"name": ""}, "name is empty"},
		{"proxplane_image", values{"name": "", "source": "ubuntu-22-template"}, "name is empty"},
		{"proxplane_manifest", values{"name": "", "yaml": ""}, "name is empty"},
		{"proxplane_snapshot", values{"name": "", "vmid": 100}, "name is empty"},
		{"proxplane_virtual_machine", values{"name": "Web"}, "name isn't right"},
		{"proxplane_virtual_machine", values{"replicas": -1}, "replicas isn't right"},
		{"proxplane_virtual_machine", values{"networks": []any{values{"name": "lan"}, values{"name": "lan"}}}, "lan is there twice, first as networks[0]"},
		{"proxplane_virtual_machine", values{"networks": []any{values{"name": "none"}}}, "networks of the provider's block"},
		{"proxplane_virtual_machine", values{"extra_config": values{"memory": "1"}}, "memory of the class is for that"},
	} {
		config := maps.Clone(wrong.more)
		if wrong.kind == "proxplane_virtual_machine" {
			config = values{"name": "web", "class": values{"cpus": 1, "memory": "1Gi"}, "image": values{"source": "ubuntu-22-template"}}
			maps.Copy(config, wrong.more)
		}
		_, said := c.plan(c.none(wrong.kind), config)
		if !said.failed || !strings.Contains(said.text, wrong.want) || strings.Contains(said.text, "metadata") || strings.Contains(said.text, " spec.") || strings.Contains(said.text, "VMClass") {
			t.Errorf("%s: want %q, have %s", wrong.kind, wrong.want, said)
		}
	}
}

// What an attribute can't be is said in our words when a configuration is validated, and isn't called a defect of the provider.
func TestValuesThatNoAttributeCanHaveAreToldWhenValidated(t *testing.T) {
	c := start(t)
	for _, wrong := range []struct {
		kind string
		more values
		want string
	}{
		{"proxplane_virtual_machine", values{"replicas": 1.5}, "replicas isn't right: Want a whole number, have 1.5."},
		{"proxplane_virtual_machine", values{"replicas": 1e30}, "replicas isn't right: Want a whole number, have 1e+30."},
		{"proxplane_virtual_machine", values{"vmids": []any{100, 100.5}}, "vmids[1] isn't right: Want a whole number, have 100.5."},
		{"proxplane_virtual_machine", values{"class": values{"cpus": 0.5, "memory": "1Gi"}}, "class.cpus isn't right: Want a whole number, have 0.5."},
		{"proxplane_virtual_machine", values{"networks": []any{values{"name": "lan", "vlan": 1.5}}}, "networks[0].vlan isn't right: Want a whole number, have 1.5."},
		{"proxplane_virtual_machine", values{"timeouts": values{"create": "-1s"}}, `timeouts.create isn't right: Want a duration above 0, such as "90s" or "1h30m", have "-1s".`},
		{"proxplane_virtual_machine", values{"timeouts": values{"update": "0s"}}, `timeouts.update isn't right`},
		{"proxplane_image", values{"name": "a", "source": "b", "timeouts": values{"delete": "soon"}}, `timeouts.delete isn't right`},
		{"proxplane_snapshot", values{"name": "a", "vmid": 100.5}, "vmid isn't right: Want a whole number"},
		{"proxplane_virtual_machine", values{"replicas": unknown{}, "timeouts": values{"create": unknown{}}}, ""},
		{"proxplane_virtual_machine", values{"replicas": 2, "timeouts": values{"create": "90s"}}, ""},
	} {
		config := maps.Clone(wrong.more)
		if wrong.kind == "proxplane_virtual_machine" {
			config = small("web")
			maps.Copy(config, wrong.more)
		}
		resp, err := c.server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: wrong.kind, Config: packed(c, c.types[wrong.kind], valueOf(c.types[wrong.kind], config))})
		if err != nil {
			t.Fatal(err)
		}
		said := told(resp.Diagnostics)
		if said.failed != (wrong.want != "") || !strings.Contains(said.text, wrong.want) || strings.Contains(said.text, "error in the provider") {
			t.Errorf("%s: want %q, have %s", wrong.kind, wrong.want, said)
		}
	}
	for want, more := range map[string]values{
		"tags: [1] is null: leave it out":     {"tags": []any{"a", nil}},
		"networks: [0] is null: leave it out": {"networks": []any{nil}},
		"vmids: [0] is null: leave it out":    {"vmids": []any{nil}},
		"replicas: want a whole number":       {"replicas": 1.5}, // which wasn't known when it was validated
		"networks: [0]: vlan: want a whole":   {"networks": []any{values{"name": "lan", "vlan": 1.5}}},
	} {
		config := small("web")
		maps.Copy(config, more)
		if _, said := c.plan(c.none("proxplane_virtual_machine"), config); !said.failed || !strings.Contains(said.text, want) {
			t.Errorf("want %q, have %s", want, said)
		}
	}
}
