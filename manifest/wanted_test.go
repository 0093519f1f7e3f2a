package manifest

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/pve/schema"
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
			if p, ok := o.Object.(*api.Provider); ok {
				p.Spec.Allow = &api.ProviderAllow{} // without it, files and Kubernetes differ
			}
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
		Spec:       api.VirtualMachineSpec{ClassRef: api.SharedRef{Name: "small"}, ImageRef: &api.SharedRef{Name: "debian"}},
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
