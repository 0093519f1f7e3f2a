package operator_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/itself"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// plugins has kubectl find proxplane, as people would install it.
func (s *story) plugins() (folder string) {
	s.t.Helper()
	folder = filepath.Join(s.dir, "bin")
	cmd := proxplane(s.t.Context(), s.t, "kubectl", "install", "--dir", folder)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "isn't in PATH") {
		s.t.Fatalf("proxplane kubectl install: %v\n%s", err, out)
	}
	return folder
}

// plugin runs kubectl with the plugins. Flags come after the plugin's name.
func (s *story) plugin(folder string, args ...string) (stdout, stderr string, err error) {
	if args[0] != cobra.ShellCompRequestCmd {
		args = append(args, "-n", s.namespace)
	}
	cmd := plane.Kubectl(s.t.Context(), args...)
	cmd.Env = append(cmd.Env, itself.As, "PATH="+folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var out, complaint strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	return out.String(), complaint.String(), err
}

// does runs a plugin that must succeed, and gives what it says.
func (s *story) does(folder string, args ...string) string {
	s.t.Helper()
	out, complaint, err := s.plugin(folder, args...)
	if err != nil {
		s.t.Fatalf("kubectl %s: %v\n%s%s", strings.Join(args, " "), err, out, complaint)
	}
	return out
}

// refuses runs a plugin that must fail, and say why.
func (s *story) refuses(pattern, folder string, args ...string) {
	s.t.Helper()
	out, complaint, err := s.plugin(folder, args...)
	if err == nil || !regexp.MustCompile("(?s)"+pattern).MatchString(complaint) {
		s.t.Errorf("kubectl %s: %v\n%s%s\nwant %s", strings.Join(args, " "), err, out, complaint, pattern)
	}
}

// The command of the page that the API comes from, as it stands there.
func TestKubectlCreatesSnapshots(t *testing.T) {
	t.Parallel()
	s := begin(t)
	bin := s.plugins()
	s.operate("--alone")
	s.provide()
	s.apply(machine("web-server"))
	s.waitFor("--for=condition=Ready", "vm/web-server")
	said := s.does(bin, "create", "vmsnapshot", "before-upgrade", "--vm=web-server", "--description=Before major upgrade", "--include-memory=true")
	if said != "vmsnapshot.infra.virtrigaud.io/before-upgrade created\n" {
		t.Errorf("it says %q", said)
	}
	s.waitFor("--for=condition=Ready", "vmsnapshot/before-upgrade")
	s.vm("web-server", func(_ *pvesim.State, vm *pvesim.VM) {
		snap := vm.Snaps["before-upgrade"]
		if snap == nil || snap.Conf["vmstate"] == "" || !strings.HasPrefix(snap.Conf["description"], "Before major upgrade") {
			t.Errorf("the snapshot is %+v", snap)
		}
	})
	if said := s.does(bin, "create", "vmsnapshot", "later", "--vm", "web-server", "--include-memory", "--dry-run=client", "-o", "yaml"); !strings.Contains(said, "includeMemory: true") {
		t.Errorf("it shows %s", said)
	}
	if said := s.does(bin, "create", "vmsnapshot", "later", "--vm", "web-server", "--dry-run=server", "-o", "name"); said != "vmsnapshot.infra.virtrigaud.io/later\n" {
		t.Errorf("it shows %s", said)
	}
	if names := s.kubectl("get", "vmsnapshot", "-o", "name"); strings.Contains(names, "later") {
		t.Errorf("there is %s", names)
	}
	if said := s.does(bin, "proxplane", "describe", "snapshot/before-upgrade"); !strings.Contains(said, "with the memory") {
		t.Errorf("it describes %s", said)
	}
	s.refuses(`there is no such machine in namespace story-\d+; there is web-server`, bin, "create", "vmsnapshot", "x", "--vm=web-sever")
	s.refuses(`vmsnapshots.infra.virtrigaud.io "before-upgrade" already exists`, bin, "create", "vmsnapshot", "before-upgrade", "--vm=web-server")
	s.refuses(`--vm is missing`, bin, "create", "vmsnapshot", "x")
	s.refuses(`--dry-run=perhaps: want none, server or client`, bin, "create", "vmsnapshot", "x", "--vm=web-server", "--dry-run=perhaps")
}

func TestKubectlShowsWhatTheOperatorWillDo(t *testing.T) {
	t.Parallel()
	s := begin(t)
	bin := s.plugins()
	s.provide()
	s.apply(machine("web", "extraConfig: {serial0: socket}"))
	s.apply(strings.ReplaceAll(machine("lost"), "classRef: {name: small}", "classRef: {name: smal}"))
	// Nobody has made anything yet, and what is wrong keeps nobody else back.
	out, complaint, err := s.plugin(bin, "proxplane", "plan")
	if err == nil || !strings.Contains(out, "clone ubuntu-22-template (9000)") || !strings.Contains(complaint, "spec.classRef.name: there is no VMClass smal") {
		t.Errorf("%v: %s%s", err, out, complaint)
	}
	s.refuses(`isn't there yet`, bin, "proxplane", "console", "web")
	s.refuses(`there is no VMClass smal .*did you mean small`, bin, "proxplane", "describe", "vm/lost")
	s.kubectl("delete", "vm", "lost")

	s.operate("--alone")
	s.waitFor("--for=condition=Ready", "vm/web")
	if said := s.does(bin, "proxplane", "plan", "--detailed-exitcode"); !strings.Contains(said, "Nothing to do") {
		t.Errorf("the plan is %s", said)
	}
	if said := s.does(bin, "proxplane", "describe", "vm/web"); !strings.Contains(said, "UpToDate") || !strings.Contains(said, "Last tasks") {
		t.Errorf("it describes %s", said)
	}
	if said := s.does(bin, "proxplane", "console", "web"); !strings.Contains(said, "vmid="+s.field("vm/web", ".status.vmid")) {
		t.Errorf("the console is %s", said)
	}
	if said := s.does(bin, "proxplane", "doctor"); !strings.Contains(said, "Nothing that is needed is missing") {
		t.Errorf("the doctor says %s", said)
	}
	s.refuses(`namespace story-\d+ has no "wbe"; there is web`, bin, "proxplane", "describe", "vm/wbe")
	if said := s.does(bin, cobra.ShellCompRequestCmd, "proxplane", "console", "-n", s.namespace, ""); !strings.Contains(said, "web\n") {
		t.Errorf("it completes %s", said)
	}
	if said := s.does(bin, "proxplane", "--help"); !strings.Contains(said, "kubectl proxplane COMMAND") {
		t.Errorf("it helps with %s", said)
	}
}

// Who may look at objects but not at Secrets needs a login of his own.
func TestKubectlNeedsALoginToProxmox(t *testing.T) {
	t.Parallel()
	s := begin(t)
	bin := s.plugins()
	s.operate("--alone")
	s.provide()
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	s.kubectl("create", "role", "looks", "--verb=get,list", "--resource=providers.infra.virtrigaud.io,virtualmachines.infra.virtrigaud.io,vmclasses.infra.virtrigaud.io,vmclones.infra.virtrigaud.io,vmimages.infra.virtrigaud.io,vmplacementpolicies.infra.virtrigaud.io,vmsnapshots.infra.virtrigaud.io")
	s.kubectl("create", "rolebinding", "looks", "--role=looks", "--user=eve")
	s.refuses(`list Provider: .*forbidden.*kubectl auth can-i --list -n story-`, bin, "proxplane", "plan", "--as=mallory")
	s.refuses(`you may not read Secret pve-credentials .*--token-id`, bin, "proxplane", "plan", "--as=eve")
	file := func(name, text string) string {
		path := filepath.Join(s.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	said := s.does(bin, "proxplane", "plan", "--as=eve", "--token-id", sim.TokenID, "--token-file", file("token", sim.TokenSecret), "--ca-file", file("ca.pem", string(sim.CA())))
	if !strings.Contains(said, "Nothing to do") {
		t.Errorf("the plan is %s", said)
	}
}

func TestKubectlImportsMachines(t *testing.T) {
	t.Parallel()
	s := begin(t)
	bin := s.plugins()
	s.operate("--alone", "--cluster-name", "east")
	s.provide()
	s.waitFor("--for=condition=Ready", "provider/proxmox")
	// A machine that somebody else has made, by hand.
	clone := pve.Params{"newid": "321", "name": "by-hand"}
	if err := s.pve.Touch(t.Context(), "ubuntu-22-template", "POST", "/clone", clone); err != nil {
		t.Fatal(err)
	}
	s.pve.Settle()
	if err := s.pve.Touch(t.Context(), "by-hand", "PUT", "/config", pve.Params{"cores": "3", "memory": "3072", "description": "made by hand"}); err != nil {
		t.Fatal(err)
	}
	s.pve.Settle()
	// Another class has the name that the machine's would have.
	s.apply("apiVersion: infra.virtrigaud.io/v1beta1\nkind: VMClass\nmetadata: {name: 3cpu-3gi}\nspec: {cpus: 3, memory: 3Gi, hotplugMemory: true}\n")
	shown := s.does(bin, "proxplane", "import", "by-hand", "--dry-run=client", "-o", "yaml")
	for _, want := range []string{"vmid: 321", "name: 3cpu-3gi-2", "namespace: " + s.namespace, "# Imported from VM 321", "description: made by hand"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q isn't in\n%s", want, shown)
		}
	}
	if vms := s.kubectl("get", "vm", "-o", "name"); vms != "" {
		t.Errorf("there is %s", vms)
	}
	s.refuses(`no terminal to confirm on.*--yes`, bin, "proxplane", "import", "321")
	said := s.does(bin, "proxplane", "import", "321", "--yes")
	if !strings.Contains(said, "virtualmachine.infra.virtrigaud.io/by-hand created") || !strings.Contains(said, "vmclass.infra.virtrigaud.io/3cpu-3gi-2 created") {
		t.Errorf("it says %s", said)
	}
	s.waitFor("--for=condition=Ready", "vm/by-hand")
	if s.field("vm/by-hand", ".status.vmid") != "321" || s.machines() != "by-hand" {
		t.Errorf("its VMID is %s; there is %s", s.field("vm/by-hand", ".status.vmid"), s.machines())
	}
	if said := s.does(bin, "proxplane", "plan", "--detailed-exitcode"); !strings.Contains(said, "Nothing to do") {
		t.Errorf("the plan is %s", said)
	}
	if text := s.conf("by-hand", "description"); !strings.HasPrefix(text, "made by hand") || !strings.Contains(text, `"set":"east"`) {
		t.Errorf("its description is %s", text)
	}
	s.refuses(`VM 321 is vm/story-\d+/by-hand of set east .*already`, bin, "proxplane", "import", "321", "--yes")
	// It was there before its object, and stays when that goes, unless the object says otherwise.
	s.kubectl("delete", "vm", "by-hand", "--timeout", patience.String())
	if s.machines() != "by-hand" || strings.Contains(s.conf("by-hand", "description"), "proxplane") {
		t.Errorf("there is %s", s.machines())
	}
	// Its object may have another name than Proxmox has for it.
	s.refuses(`--as names one object`, bin, "proxplane", "import", "321", "9000", "--as", "two", "--yes")
	s.does(bin, "proxplane", "import", "321", "--as", "other-name", "--yes")
	s.waitFor("--for=condition=Ready", "vm/other-name")
	if s.field("vm/other-name", ".status.vmid") != "321" || s.machines() != "by-hand" {
		t.Errorf("its VMID is %s; there is %s", s.field("vm/other-name", ".status.vmid"), s.machines())
	}
}
