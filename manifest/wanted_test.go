package manifest

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/pve/schema"
	_ "github.com/proxplane/proxplane/test/chance"
)

var login = map[string]string{"PVE_ENDPOINT": "https://pve", "PVE_TOKEN_ID": "me@pve!laptop", "PVE_TOKEN_SECRET": "not-shown"}

func env(vars map[string]string) Options {
	return Options{Set: "test", Getenv: func(name string) string { return vars[name] }}
}

// valid are the manifests of testdata that have no errors.
func valid(t *testing.T) map[string]*Set {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	sets := map[string]*Set{}
	for _, file := range files {
		if strings.Contains(file, "errors-") {
			continue
		}
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := &reader{}
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".yaml") {
				r.parse(f.Name, f.Data)
			}
		}
		if sets[file], err = r.set(); err != nil {
			t.Fatal(err)
		}
	}
	if len(sets) < 5 {
		t.Fatalf("only %d sets", len(sets))
	}
	return sets
}

func TestObjectsBecomeTheSameAsTheirManifests(t *testing.T) {
	for file, set := range valid(t) {
		var objects []any
		for _, o := range set.objects {
			objects = append(objects, o.Object)
		}
		before := pretty(t, objects)
		same, err := FromObjects(objects...)
		if err != nil {
			t.Fatal(err)
		}
		a, err := set.Wanted(env(login))
		if err != nil {
			t.Fatal(err)
		}
		b, err := same.Wanted(env(login))
		if err != nil {
			t.Fatal(err)
		}
		if pretty(t, a) != pretty(t, b) {
			t.Errorf("%s: other than from YAML", file)
		}
		if pretty(t, objects) != before {
			t.Errorf("%s: the objects were changed", file)
		}
	}
}

func TestObjectsOfKubernetesHaveTheirUIDAndEnd(t *testing.T) {
	now := metav1.Now()
	class := &api.VMClass{ObjectMeta: metav1.ObjectMeta{Name: "small", Namespace: "ns"}, Spec: api.VMClassSpec{CPUs: 1}}
	class.Spec.Memory.Set(1 << 30)
	image := &api.VMImage{ObjectMeta: metav1.ObjectMeta{Name: "debian", Namespace: "ns"}, Spec: api.VMImageSpec{Source: "debian"}}
	vm := &api.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", UID: "u-1", DeletionTimestamp: &now},
		Spec:       api.VirtualMachineSpec{ClassRef: api.Ref{Name: "small"}, ImageRef: &api.Ref{Name: "debian"}},
	}
	set, err := FromObjects(class, image, vm)
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := set.Wanted(env(login))
	if err != nil {
		t.Fatal(err)
	}
	got := wanted[0].Desired.VMs[0]
	want := model.Owner{Door: "vm", Set: "test", Key: model.Key{Kind: "VirtualMachine", Namespace: "ns", Name: "web"}, UID: "u-1"}
	if got.Owner != want || !got.Deleted {
		t.Errorf("owner %+v, deleted %v", got.Owner, got.Deleted)
	}
	if _, err := FromObjects(class, class); err == nil {
		t.Error("the same object twice is no error")
	}
	if _, err := FromObjects("text"); err == nil {
		t.Error("a text is an object")
	}
	vm.Spec.ClassRef.Name = "large"
	if _, err = set.Wanted(env(login)); err == nil || err.Error() != "VirtualMachine ns/web: spec.classRef.name: there is no VMClass large in namespace ns; there is small" {
		t.Errorf("%v", err)
	}
	var all Errors
	if !errors.As(err, &all) || all[0].Field != "spec.classRef.name" {
		t.Errorf("%#v", err)
	}
}

// Proxmox takes every option that comes out, and has nothing to spell otherwise.
func TestOptionsAreCanonicalAndTakenByProxmox(t *testing.T) {
	s, err := schema.Load("9.2")
	if err != nil {
		t.Fatal(err)
	}
	call := s.Lookup("PUT", "/nodes/{node}/qemu/{vmid}/config")
	tried := 0
	check := func(file string, options map[string]string) {
		for key, value := range options {
			if again := prop.Canonical(key, value); value != "" && again != value {
				t.Errorf("%s: %s=%q should be %q", file, key, value, again)
			}
			if value == "" || key == "sshkeys" {
				continue
			}
			tried++
			if p := call.Param(key); p == nil || p.Verify(key, value) != nil {
				t.Errorf("%s: Proxmox doesn't take %s=%q", file, key, value)
			}
		}
	}
	for file, set := range valid(t) {
		wanted, err := set.Wanted(env(login))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range wanted {
			for _, vm := range w.Desired.VMs {
				check(file, vm.Options)
			}
			for _, image := range w.Desired.Images {
				check(file, image.Options)
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d options tried", tried)
	}
}

func TestSecretsAreNeverPartOfErrorsOrNotes(t *testing.T) {
	const secret = "s3cr3t-value"
	objects := `
apiVersion: v1
kind: Secret
metadata: {name: login}
data: {DATA}
stringData: {STRING}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: lab}
spec:
  endpoint: ENDPOINT
  credentialSecretRef: {name: login}
  runtime: {mode: Remote, env: [ENV]}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClone
metadata: {name: web}
spec:
  sourceVMRef: {name: golden}
  userData: {cloudInit: {secretRef: {name: login, key: KEY}}}
`
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom([]string{"token_id", "token_secret", "username", "password", "ca.crt", "user-data", "other"})
		value := rapid.SampledFrom([]string{secret, "root@pam", "me@pve!x", "a@b!" + secret, "#cloud-config\\n" + secret + ": [", secret + "@pam", "[" + secret})
		pairs := func(name string) string {
			m := rapid.MapOfN(key, value, 0, 4).Draw(t, name)
			var out []string
			for k, v := range m {
				out = append(out, fmt.Sprintf("%s: %q", k, v))
			}
			return strings.ReplaceAll(strings.Join(out, ", "), `\\n`, `\n`)
		}
		variable := rapid.SampledFrom([]string{"PVE_TOKEN_ID", "PVE_TOKEN_SECRET", "PVE_USERNAME", "PVE_PASSWORD", "PVE_CA_BUNDLE", "PROXMOX_VE_API_TOKEN"})
		text := strings.NewReplacer(
			"DATA", pairs("data"), "STRING", pairs("string"), "KEY", key.Draw(t, "key"),
			"ENDPOINT", rapid.SampledFrom([]string{"https://pve", "https://me:" + secret + "@pve"}).Draw(t, "endpoint"),
			"ENV", fmt.Sprintf("{name: %s, value: %q}", variable.Draw(t, "variable"), value.Draw(t, "value")),
		).Replace(objects)
		vars := map[string]string{variable.Draw(t, "process variable"): value.Draw(t, "process value")}
		set, err := Parse("x.yaml", []byte(text))
		if set != nil && err == nil {
			var wanted []Wanted
			wanted, err = set.Wanted(env(vars))
			for _, w := range wanted {
				if shown := fmt.Sprintf("%+v %#v", w.Connection.Credentials, w.Connection.Credentials); strings.Contains(shown, secret) && !strings.Contains(shown, secret+"@") && !strings.Contains(shown, "!"+secret) {
					t.Fatalf("credentials show %s", shown)
				}
			}
		}
		told := fmt.Sprint(err)
		if set != nil {
			told += strings.Join(set.Notes(), "\n")
		}
		if strings.Contains(told, secret) {
			t.Fatalf("%s\ntells\n%s", text, told)
		}
	})
}

func TestAddressesOfOurOwnAreStableAndApart(t *testing.T) {
	owner := model.Owner{Door: "vm", Set: "a", Key: model.Key{Kind: "VirtualMachine", Name: "web"}}
	first := stableMAC(owner, "lan")
	if !goodMAC(first) || first[1] != '2' && first[1] != '6' && first[1] != 'A' && first[1] != 'E' {
		t.Errorf("%s isn't an address that anybody may give away", first)
	}
	seen := map[string]bool{}
	for i := range 1000 {
		owner.Name = fmt.Sprint("vm-", i)
		for _, name := range []string{"lan", "dmz"} {
			mac := stableMAC(owner, name)
			if mac != stableMAC(owner, name) || seen[mac] {
				t.Fatalf("%s comes twice, or isn't stable", mac)
			}
			seen[mac] = true
		}
	}
}

func TestSnapshotNamesAreThoseThatProxmoxTakes(t *testing.T) {
	s, err := schema.Load("9.2")
	if err != nil {
		t.Fatal(err)
	}
	p := s.Lookup("POST", "/nodes/{node}/qemu/{vmid}/snapshot").Param("snapname")
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9]([a-z0-9.-]{0,60}[a-z0-9])?`).Draw(t, "name")
		if bad := p.Verify("snapname", SnapshotName(name)); bad != nil || SnapshotName(name) == "current" {
			t.Fatalf("%s becomes %s: %v", name, SnapshotName(name), bad)
		}
	})
}

func TestMemoryForHotplugIsWhatProxmoxCanPlugTogether(t *testing.T) {
	for _, c := range []struct{ have, want int64 }{
		{1, 1024},
		{1024, 1024}, {1025, 1536}, {17408, 17408}, {17409, 18432}, {50176, 50176}, {50177, 52224},
	} {
		if got := pluggable(c.have); got != c.want {
			t.Errorf("%d MiB: %d, want %d", c.have, got, c.want)
		}
	}
}

func TestOnlyWhatMeansTheSameGoesIntoProxmoxOptions(t *testing.T) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPm4rM4P9lUu3RS4zUwVWKUVY3m7nPuHqL0TyZ0bH8pI me@here"
	for _, c := range []struct {
		text   string
		want   map[string]string // nil: it needs a drive
		reason string
	}{
		{"{}", map[string]string{}, "says nothing"},
		{"hostname: web\nmanage_etc_hosts: true", map[string]string{}, "as Proxmox does"},
		{"hostname: other", nil, "Proxmox uses the name of the VM"},
		{"user: me\nssh_authorized_keys: ['" + key + "']", map[string]string{"ciuser": "me", "sshkeys": key}, "the default user, renamed"},
		{"users: [default]", map[string]string{}, "as Proxmox does"},
		{"users: [{name: me}]", nil, "a user without the rights of the default one"},
		{"ssh_authorized_keys: ['ssh-ed25519 AAAA...']", nil, "Proxmox checks keys"},
		{"ssh_authorized_keys: ['from=\"10.0.0.1\" " + key + "']", nil, "options before a key"},
		{"password: x\nchpasswd: {expire: false}", map[string]string{"cipassword": "x"}, "as Proxmox does"},
		{"password: x", nil, "would have to be changed at once"},
		{"chpasswd: {expire: false}", nil, "of which users?"},
		{"package_upgrade: true", map[string]string{"ciupgrade": "1"}, "the default of Proxmox"},
		{"packages: [nginx]", nil, "not in Proxmox"},
		{"[a]", nil, "not a mapping"},
	} {
		got, err := proxmoxOptions("#cloud-config\n"+c.text+"\n", "web")
		if (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v: %s", c.text, err, c.reason)
			continue
		}
		if c.want == nil {
			continue
		}
		want := map[string]string{"ciuser": "", "cipassword": "", "sshkeys": "", "ciupgrade": "0"}
		maps.Copy(want, c.want)
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v: %s", c.text, got, want, c.reason)
		}
	}
	if _, err := proxmoxOptions("#!/bin/sh\n", "web"); err == nil {
		t.Error("a script goes into options")
	}
}

func BenchmarkThousandMachines(b *testing.B) {
	var text strings.Builder
	text.WriteString(classNamed("small") + "---\napiVersion: infra.virtrigaud.io/v1beta1\nkind: VMImage\nmetadata: {name: debian}\nspec: {source: debian}\n")
	for i := range 1000 {
		fmt.Fprintf(&text, `---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: vm-%d}
spec:
  classRef: {name: small}
  imageRef: {name: debian}
  networks: [{name: lan}]
  disks: [{name: root, size: 40Gi}]
`, i)
	}
	data := []byte(text.String())
	b.ReportAllocs()
	for b.Loop() {
		set, err := Parse("x.yaml", data)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := set.Wanted(env(login)); err != nil {
			b.Fatal(err)
		}
	}
}

func TestUserDataIsWithinWhatProxmoxTakes(t *testing.T) {
	const head = `apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 1, memory: 512Mi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: web}
spec:
  classRef: {name: small}
  disks: [{name: root, size: 1Gi, storage: lvm}]
  userData:
    delivery: %s
    cloudInit: {inline: "%s"}
`
	script := func(size int) string { return `#!/bin/sh\n` + strings.Repeat("x", size) }
	keys := func(n int) string {
		const key = `- ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPm4rM4P9lUu3RS4zUwVWKUVY3m7nPuHqL0TyZ0bH8pI\n`
		return `#cloud-config\nssh_authorized_keys:\n` + strings.Repeat(key, n)
	}
	for _, c := range []struct{ delivery, text, want string }{
		{"iso", script(2 << 20), ""},
		{"iso", script(17 << 20), "user-data has 17825802 bytes, more than the 16777216 that fit on a drive"},
		{"snippets", script(2 << 20), "user-data has 2097162 bytes, and Proxmox reads at most 1048576 of a snippet; delivery: iso takes more"},
		{"proxmox", keys(1000), ""},
		{"proxmox", keys(10_000), "bytes on their way to Proxmox, mostly sshkeys, and it takes at most 458752; delivery: iso takes more"},
	} {
		set, err := Parse("vms.yaml", fmt.Appendf(nil, head, c.delivery, c.text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = set.Wanted(Options{Getenv: func(name string) string {
			return map[string]string{"PVE_ENDPOINT": "https://pve:8006", "PVE_TOKEN_ID": "me@pve!x", "PVE_TOKEN_SECRET": "y"}[name]
		}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d bytes by %s: %v, want %q", len(c.text), c.delivery, err, c.want)
		}
	}
}

// In Kubernetes it is written down which machines of an object were made: those that
// it doesn't ask for any more go, if they may.
func TestACountInKubernetesKnowsWhatWasMade(t *testing.T) {
	for _, c := range []struct {
		policy api.Permission
		want   string
	}{
		{api.Never, "web-1@0 web-2@101 web-4@104"},
		{api.Allow, "web-1@0 web-2@101 web-4@104 goes"},
	} {
		vm := &api.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u-2", Annotations: map[string]string{api.Identity: "u-1"}}}
		vm.Spec.Count, vm.Spec.ClassRef.Name, vm.Spec.Disks = new(2), "small", []api.Disk{}
		vm.Spec.UpdatePolicy.ScaleDown = c.policy
		vm.Status.Members = []api.Member{{Name: "web-2", VMID: 101}, {Name: "web-4", VMID: 104}, {Name: "web-04"}, {Name: "other-9"}}
		class := &api.VMClass{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: api.VMClassSpec{CPUs: 1, Memory: resource.MustParse("1Gi")}}
		set, err := FromObjects(&api.Provider{ObjectMeta: metav1.ObjectMeta{Name: "pve"}}, class, vm)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range set.Parts(Options{}).Wanted[0].Desired.VMs {
			text := fmt.Sprintf("%s@%d", v.Owner.Name, v.Remembered)
			if v.Deleted {
				text += " goes"
			}
			got = append(got, text)
			if v.Owner.UID != "u-1" || v.Group != "web" {
				t.Errorf("%s is of %s, %s", v.Name, v.Owner.UID, v.Group)
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", c.policy, text, c.want)
		}
	}
}
