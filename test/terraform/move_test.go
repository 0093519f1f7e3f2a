package terraform_test

import (
	"context"
	"crypto/md5"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	framework "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// other stands in for another provider whose resources are moved: Terraform wants its schema as long as a state
// names it. It can do nothing.
type other struct{ name string }

func (p other) Metadata(_ context.Context, _ framework.MetadataRequest, resp *framework.MetadataResponse) {
	resp.TypeName = p.name
}
func (other) Schema(context.Context, framework.SchemaRequest, *framework.SchemaResponse) {}
func (other) Configure(_ context.Context, _ framework.ConfigureRequest, resp *framework.ConfigureResponse) {
	resp.Diagnostics.AddError("The other provider is needed", "Nothing should ask it for anything.")
}
func (other) DataSources(context.Context) []func() datasource.DataSource { return nil }
func (p other) Resources(context.Context) []func() resource.Resource {
	list := []func() resource.Resource{}
	for _, suffix := range map[string][]string{"proxmox": {"_vm_qemu", "_cloud_init_disk"}, "null": {"_resource"}}[p.name] {
		list = append(list, func() resource.Resource { return &otherResource{suffix: suffix} })
	}
	return list
}

type otherResource struct {
	resource.Resource
	suffix string
}

func (r otherResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + r.suffix
}

func (otherResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema.Attributes = map[string]schema.Attribute{}
	for _, name := range []string{"id", "name", "clone"} {
		resp.Schema.Attributes[name] = schema.StringAttribute{Optional: true}
	}
	resp.Schema.Attributes["vmid"] = schema.Int64Attribute{Optional: true}
}

// otherProvider is what this program is under the name of another provider.
func otherProvider() {
	name := strings.TrimPrefix(filepath.Base(os.Args[0]), "terraform-provider-")
	if err := providerserver.Serve(context.Background(), func() framework.Provider { return other{name} }, providerserver.ServeOpts{Address: "registry.opentofu.org/other/" + name}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// withOriginal has OpenTofu find the providers of the original.
func (b *bench) withOriginal() {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	home := b.home()
	for _, name := range []string{"proxmox", "null"} {
		if err := os.Symlink(self, filepath.Join(home, "terraform-provider-"+name)); err != nil {
			b.Fatal(err)
		}
	}
	rc := filepath.Join(home, "tofurc")
	text, err := os.ReadFile(rc)
	if err != nil {
		b.Fatal(err)
	}
	more := fmt.Sprintf("dev_overrides {\n    \"telmate/proxmox\" = %q\n    \"hashicorp/null\" = %q\n", home, home)
	if err := os.WriteFile(rc, []byte(strings.Replace(string(text), "dev_overrides {\n", more, 1)), 0o600); err != nil {
		b.Fatal(err)
	}
}

// home is the folder with what OpenTofu is set up by.
func (b *bench) home() string {
	for _, v := range b.env {
		if dir, ok := strings.CutPrefix(v, "HOME="); ok && strings.Contains(dir, "Test") {
			return dir
		}
	}
	b.Fatal("there is no home")
	return ""
}

// originalState is a state of the original module.
func originalState(name string, vmid, count int) string {
	var vms, disks, triggers []string
	for i := range count {
		own := fmt.Sprintf("%s-%d", name, i+1)
		vms = append(vms, fmt.Sprintf(`{"index_key": %d, "schema_version": 0, "attributes": {"id": "pve1/qemu/%d", "vmid": %d, "name": %q, "clone": "flatcar"}, "sensitive_attributes": []}`, i, vmid+i, vmid+i, own))
		disks = append(disks, fmt.Sprintf(`{"index_key": %d, "schema_version": 0, "attributes": {"id": "local:iso/tf-ci-%s.iso", "name": %q}, "sensitive_attributes": []}`, i, own, own))
		triggers = append(triggers, fmt.Sprintf(`{"index_key": %d, "schema_version": 0, "attributes": {"id": "%d"}, "sensitive_attributes": []}`, i, 4711+i))
	}
	of := func(kind, name, provider string, list []string) string {
		return fmt.Sprintf(`{"module": "module.k3s", "mode": "managed", "type": %q, "name": %q, "provider": %q, "instances": [%s]}`, kind, name, provider, strings.Join(list, ","))
	}
	return `{"version": 4, "terraform_version": "1.9.0", "serial": 7, "lineage": "3f1c9a52-0000-4000-8000-000000000000", "outputs": {}, "resources": [` + strings.Join([]string{
		of("proxmox_vm_qemu", "proxmox_flatcar_vm", `module.k3s.provider["registry.opentofu.org/telmate/proxmox"]`, vms),
		of("proxmox_cloud_init_disk", "ignition_cloud_init", `module.k3s.provider["registry.opentofu.org/telmate/proxmox"]`, disks),
		of("null_resource", "node_replace_trigger", `provider["registry.opentofu.org/hashicorp/null"]`, triggers),
	}, ",") + `]}`
}

// unchanged: guests that were there are as they were.
func (b *bench) unchanged(before map[string]string) {
	b.Helper()
	now := b.configs()
	for key, value := range before {
		if now[key] != value {
			b.Errorf("%s was %q and is %q", key, value, now[key])
		}
	}
}

// originalMAC is the address that the original gives the first interface of a machine.
func originalMAC(name string, vmid int) string {
	sum := fmt.Sprintf("%x", md5.Sum([]byte(name)))
	n := vmid * 32
	return strings.ToUpper(fmt.Sprintf("00:%s:%s:%02x:%02x:%02x", sum[1:3], sum[3:5], n>>16&255, n>>8&255, n&255))
}

const originalModule = `
module "k3s" {
  source        = "../../../modules/proxmox-vm"
  original      = %t
  vmid          = 8100
  name          = "k3s"
  vm_count      = %d
  pm_api_url    = var.pm_api_url
  pm_password   = var.pm_password
  target_node   = var.target_node
  template_name = "flatcar-production-qemu-stable-3975.2.0"
  butane_conf   = "${path.module}/flatcar.bu.tftpl"
  butane_path   = "${path.module}/butane.d"
  full_clone    = false
  memory        = 1024
  description   = "An **example**"
  tags          = ["example", "flatcar"]
  networks      = [{ tag = 5 }]
  plan9fs       = [{ dirid = "/srv/other", tag = "other" }]
}
`

// Who changes the source of the module, and says that the original has made the machines, has a plan in which nothing is
// added, destroyed, restarted or changed but whose they are.
func TestTheSourceOfTheModuleIsChanged(t *testing.T) {
	b := example(t, "flatcar")
	b.withOriginal()
	b.originals(8100, "k3s", 3)
	configs, since := b.configs(), b.running()
	b.write("terraform.tfstate", originalState("k3s", 8100, 3))

	// Nothing is done to them by accident.
	b.write("main.tf", fmt.Sprintf(originalModule, false, 3))
	b.do("get")
	b.says(b.refused(), "8100")
	b.same(configs)

	b.write("main.tf", fmt.Sprintf(originalModule, true, 3))
	out := b.planned()
	b.says(out, "has moved", "0 to add, 3 to change, 0 to destroy", "VM 8100 on pve1 gets a marker in its notes, and two tags")
	for _, wrong := range []string{"is restarted", "made anew", "loses data", "next start"} {
		if strings.Contains(out, wrong) {
			t.Errorf("the plan says %q:\n%s", wrong, out)
		}
	}
	b.apply()
	b.settled()
	b.same(configs)
	if now := b.running(); !maps.Equal(now, since) {
		t.Errorf("machines ran since %v, and run since %v", since, now)
	}
	if state, _ := b.run("state", "list"); strings.Contains(state, "proxmox_vm_qemu") || strings.Contains(state, "null_resource") {
		t.Errorf("the state has %s", state)
	}

	// A lost state, and without the original's providers: they are found again.
	for _, name := range []string{"terraform.tfstate", "terraform.tfstate.backup"} {
		if err := os.Remove(filepath.Join(b.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	b.apply()
	b.settled()
	b.same(configs)

	// One more gets all that the module gives.
	b.write("main.tf", fmt.Sprintf(originalModule, true, 4))
	b.apply()
	b.settled()
	b.unchanged(configs)
	b.conf("k3s-4", map[string]string{"args": "opt/org.flatcar-linux/config", "net0": originalMAC("k3s", 8103), "hookscript": "proxplane-hook"})

	// What is live is changed, and what isn't is refused, as of all machines.
	b.write("main.tf", strings.Replace(fmt.Sprintf(originalModule, true, 4), `"flatcar"]`, `"flatcar", "more"]`, 1))
	b.apply()
	b.settled()
	b.conf("k3s-2", map[string]string{"tags": "more", "description": "hook-script: local:snippets/virtiofsd.pl", "args": "/etc/pve/local/ignition/8101.ign"})
	if now := b.running(); now["8101"] != since["8101"] {
		t.Error("a tag has restarted a machine")
	}
	b.write("main.tf", strings.Replace(fmt.Sprintf(originalModule, true, 4), "1024", "2048", 1))
	b.says(b.refused(), "k3s-1: change not allowed", "update_policy")
}
