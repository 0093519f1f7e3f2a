package operator_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/pveum"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// What reaches hosts, logins and other people's VMs is closed, until the Provider opens
// it. Each object says what it lacks and who can give it.
func TestWhatReachesTheHostIsClosedUntilTheProviderAllowsIt(t *testing.T) {
	t.Parallel()
	s := beginAlone(t, func(w *pvesim.World) {
		w.Dirs = append(w.Dirs, "/srv/data")
		w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 500, Node: "pve1", Config: map[string]string{"name": "database", "memory": "512", "scsi0": "nfs:8"}})
	})
	s.apply(machine("share", "filesystems: [{type: virtiofs, source: /srv/data, tag: data}]"))
	s.apply(machine("args", `extraConfig: {args: "-device x"}`))
	s.apply(machine("login", "userData: {cloudInit: {secretRef: {name: pve-credentials, key: token_secret}}}"))
	s.apply(machine("fine"))
	s.apply("apiVersion: infra.virtrigaud.io/v1beta1\nkind: VMClone\nmetadata: {name: thief}\nspec: {sourceVMRef: {name: \"500\"}}\n")
	s.waitFor("--for=condition=Ready", "vm/fine")
	s.waits("vm/share", `^spec.filesystems\[0\].source: Provider proxmox doesn't allow to share the host directory /srv/data; whoever may change the Provider can allow it with spec.allow.paths: \["/srv/data"\]$`)
	s.waits("vm/args", `spec.extraConfig.args: .*spec.allow.extraConfig: \["args"\]`)
	s.waits("vm/login", `^spec.userData.cloudInit.secretRef.name: Secret pve-credentials is the login of Provider proxmox, and isn't handed to a guest`)
	s.waits("vmclone/thief", `VM 500 isn't a template, and nothing but templates is allowed here; .*spec.allow.sources: \["500"\]`)
	for _, object := range []string{"vm/share", "vm/args", "vm/login"} {
		s.waitFor("--for=condition=Degraded", object)
		if reason := s.field(object, `.status.conditions[?(@.type=="Ready")].reason`); reason != "Forbidden" {
			t.Errorf("%s: reason %s", object, reason)
		}
		if events := s.kubectl("events", "--for", object); !strings.Contains(events, "Provider proxmox") {
			t.Errorf("%s: no event says it:\n%s", object, events)
		}
	}
	if s.machines() != "database fine" && s.machines() != "fine database" {
		t.Fatalf("there is %q", s.machines())
	}

	s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p", `{"spec":{"allow":{"paths":["/srv/data"],"sources":["ubuntu-*","500"]}}}`)
	s.waitFor("--for=condition=Ready", "vm/share", "vmclone/thief")
	s.waits("vm/args", "spec.extraConfig.args")

	// What was allowed and isn't any more stays as it is in Proxmox, and can be deleted.
	s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p", `{"spec":{"allow":{"paths":null}}}`)
	s.waits("vm/share", "doesn't allow to share the host directory")
	s.vm("share", func(_ *pvesim.State, vm *pvesim.VM) {
		if vm.Run == nil {
			t.Error("the machine was stopped")
		}
	})
	s.kubectl("delete", "vm", "share", "args", "login", "--timeout", patience.String())
	if strings.Contains(s.machines(), "share") {
		t.Errorf("there is %q", s.machines())
	}
}

var fenced = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// The section about teams, as it is written: its commands, its Provider and its Role.
func TestATeamGetsWhatThePageSaysAndNoMore(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operator.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "\n## A namespace for a team\n")
	blocks := fenced.FindAllStringSubmatch(section, 2)
	if !ok || len(blocks) != 2 || blocks[1][1] != "yaml" {
		t.Fatal("docs/operator.md has no section about teams with commands and manifests")
	}
	s := begin(t, func(w *pvesim.World) {
		w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 500, Node: "pve1", Config: map[string]string{"name": "database", "memory": "512", "scsi0": "nfs:8"}})
	})
	token := ""
	for line := range strings.Lines(blocks[0][2]) {
		made, err := pveum.Run(t.Context(), s.pve.Root, strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		if made.Secret.Reveal() != "" {
			token = made.Secret.Reveal()
		}
	}
	s.operate("--alone")
	s.kubectl("create", "secret", "generic", "pve-credentials", "--from-literal=token_id=team-a@pve!kubernetes", "--from-literal=token_secret="+token, "--from-literal=ca.crt="+string(sim.CA()))
	s.apply(strings.NewReplacer("https://pve.example.com:8006", s.pve.Endpoint, "namespace: team-a", "namespace: "+s.namespace).Replace(blocks[1][2]))
	s.kubectl("create", "rolebinding", "team", "--role=machines", "--user=ann")

	team := []string{"pool: team-a", "networks: [{name: team-a}]", "disks: [{name: root, storage: nfs}]", `userData: {cloudInit: {inline: "#cloud-config"}}`}
	manifests := strings.Replace(machine("web", team...), "source: ubuntu-22-template", `source: "9000"`, 1)
	if out, err := s.try(manifests, "apply", "--as=ann", "-f", "-"); err != nil {
		t.Fatalf("the team can't write machines: %v\n%s", err, out)
	}
	s.waitFor("--for=condition=Ready", "vm/web")
	s.vm("web", func(st *pvesim.State, vm *pvesim.VM) {
		if !st.Pools["team-a"].VMs[vm.ID] || !strings.Contains(vm.Conf["net0"], "bridge=vmbr0") || !strings.Contains(vm.Conf["net0"], "tag=40") {
			t.Errorf("pool %v, net0 %s", st.Pools["team-a"].VMs, vm.Conf["net0"])
		}
	})
	for _, verb := range []string{"create providers", "patch providers", "get secrets", "patch secrets"} {
		if out, _ := s.try("", append([]string{"auth", "can-i", "--as=ann"}, strings.Fields(verb)...)...); strings.TrimSpace(out) != "no" {
			t.Errorf("the team may %s: %s", verb, out)
		}
	}
	for name, c := range map[string]struct{ more, want string }{
		"pool":    {"networks: [{name: team-a}]", "spec.pool: is missing: Provider proxmox allows machines only in pools, team-a"},
		"bridge":  {"pool: team-a\n  networks: [{name: lan}]", `doesn't allow bridge vmbr0; .*spec.allow.networks: \["lan"\]`},
		"storage": {"pool: team-a\n  networks: [{name: team-a}]\n  disks: [{name: root, storage: local-lvm}]", `doesn't allow storage local-lvm; .*spec.allow.storages: \["local-lvm"\]`},
		"secret":  {"pool: team-a\n  networks: [{name: team-a}]\n  userData: {cloudInit: {secretRef: {name: pve-credentials, key: token_secret}}}", "doesn't allow to hand Secret pve-credentials to a guest"},
	} {
		s.apply(strings.Replace(machine(name, c.more), "source: ubuntu-22-template", `source: "9000"`, 1))
		s.waits("vm/"+name, c.want)
	}
	// Nor does the login see more than it needs: not even with a Provider that allows all.
	s.kubectl("patch", "provider", "proxmox", "--type=json", "-p", `[{"op":"replace","path":"/spec/allow","value":{"sources":["*"]}}]`)
	s.apply(fmt.Sprintf("apiVersion: infra.virtrigaud.io/v1beta1\nkind: VMClone\nmetadata: {name: thief}\nspec: {sourceVMRef: {name: %q}, pool: team-a}\n", "500"))
	s.waits("vmclone/thief", "there is no VM 500")
	s.kubectl("delete", "vm,vmclone", "--all", "--timeout", patience.String())
}
