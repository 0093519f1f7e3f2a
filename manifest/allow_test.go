package manifest

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
)

// tenancy is a namespace of Kubernetes with a Provider, its login, and a machine.
func tenancy(allow *api.ProviderAllow, change func(*api.VirtualMachine), more ...any) []any {
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "team-a", Name: name} }
	class := &api.VMClass{ObjectMeta: at("small"), Spec: api.VMClassSpec{CPUs: 1}}
	class.Spec.Memory.Set(1 << 30)
	vm := &api.VirtualMachine{ObjectMeta: at("web"), Spec: api.VirtualMachineSpec{ClassRef: api.SharedRef{Name: "small"}, ImageRef: &api.SharedRef{Name: "image"}}}
	vm.Spec.Networks = []api.Network{{Name: "lan"}}
	change(vm)
	objects := []any{
		class, vm,
		&api.VMImage{ObjectMeta: at("image"), Spec: api.VMImageSpec{Source: "9000"}},
		&api.Provider{ObjectMeta: at("proxmox"), Spec: api.ProviderSpec{Endpoint: "https://pve.example.com:8006", CredentialSecretRef: &api.Ref{Name: "login"}, Allow: allow}},
		&Secret{ObjectMeta: at("login"), StringData: map[string]string{"token_id": "me@pve!laptop", "token_secret": "00000000-0000-0000-0000-000000000000"}},
	}
	return append(objects, more...)
}

func fromSecret(name, key string) func(*api.VirtualMachine) {
	return func(vm *api.VirtualMachine) {
		text := api.Text{SecretRef: &api.SecretKeyRef{Name: name, Key: key}}
		vm.Spec.MetaData = &api.MetaData{Text: text}
	}
}

func TestWhatReachesTheHostOrALoginIsClosedInKubernetes(t *testing.T) {
	at := metav1.ObjectMeta{Namespace: "team-a", Name: "more", Labels: map[string]string{"first-boot": "yes"}}
	secret := func(typ, key string) *Secret {
		return &Secret{ObjectMeta: at, Type: typ, StringData: map[string]string{key: "a: b"}}
	}
	share := func(vm *api.VirtualMachine) {
		vm.Spec.Filesystems = []api.Filesystem{{Type: "virtiofs", Source: "/srv/data", Tag: "data"}}
	}
	extra := func(key, value string) func(*api.VirtualMachine) {
		return func(vm *api.VirtualMachine) { vm.Spec.ExtraConfig = map[string]string{key: value} }
	}
	script := func(vm *api.VirtualMachine) { vm.Spec.Hookscripts = []string{"local:snippets/a.sh"} }
	labelled := &api.ProviderAllow{Secrets: &api.SecretSelector{MatchLabels: map[string]string{"first-boot": "yes"}}}
	for _, c := range []struct {
		reason string
		allow  *api.ProviderAllow
		vm     func(*api.VirtualMachine)
		more   []any
		field  string // empty: it is allowed
	}{
		{reason: "an ordinary machine needs no permission", vm: func(*api.VirtualMachine) {}},
		{reason: "a host directory", vm: share, field: "spec.filesystems[0].source"},
		{reason: "a host directory that is allowed", allow: &api.ProviderAllow{Paths: []string{"/srv/data"}}, vm: share},
		{reason: "one below that which is allowed, where a guest may have put a link", allow: &api.ProviderAllow{Paths: []string{"/srv"}}, vm: share, field: "spec.filesystems[0].source"},
		{reason: "a hookscript", vm: script, field: "spec.hookscripts[0]"},
		{reason: "a hookscript that is allowed", allow: &api.ProviderAllow{Hookscripts: []string{"local:snippets/*"}}, vm: script},
		{reason: "arguments of QEMU", vm: extra("args", "-device x"), field: "spec.extraConfig.args"},
		{reason: "any option isn't arguments of QEMU", allow: &api.ProviderAllow{ExtraConfig: []string{"*"}}, vm: extra("args", "-device x"), field: "spec.extraConfig.args"},
		{reason: "arguments of QEMU that are allowed", allow: &api.ProviderAllow{ExtraConfig: []string{"args"}}, vm: extra("args", "-device x")},
		{reason: "a directory mapping by its option", vm: extra("virtiofs0", "data"), field: "spec.extraConfig.virtiofs0"},
		{reason: "a device of the host", vm: extra("usb0", "host=1-1"), field: "spec.extraConfig.usb0"},
		{reason: "a serial port of the host", vm: extra("serial1", "/dev/ttyS0"), field: "spec.extraConfig.serial1"},
		{reason: "a serial port of the guest alone", vm: extra("serial1", "socket")},
		{reason: "an ordinary option", vm: extra("tablet", "0")},
		{reason: "no option at all", allow: &api.ProviderAllow{ExtraConfig: []string{}}, vm: extra("tablet", "0"), field: "spec.extraConfig.tablet"},
		{reason: "the login of the Provider", vm: fromSecret("login", "token_secret"), field: "spec.metaData.secretRef.name"},
		{reason: "a Secret of the namespace", vm: fromSecret("more", "a"), more: []any{secret("Opaque", "a")}},
		{reason: "the token of a service account", vm: fromSecret("more", "token"), more: []any{secret("kubernetes.io/service-account-token", "token")}, field: "spec.metaData.secretRef.name"},
		{reason: "what a release of Helm has", vm: fromSecret("more", "release"), more: []any{secret("helm.sh/release.v1", "release")}, field: "spec.metaData.secretRef.name"},
		{reason: "a login that no Provider names yet", vm: fromSecret("more", "token_secret"), more: []any{secret("", "token_secret")}, field: "spec.metaData.secretRef.name"},
		{reason: "a Secret that is labelled", allow: labelled, vm: fromSecret("more", "a"), more: []any{secret("", "a")}},
		{reason: "a Secret without the label", allow: labelled, vm: fromSecret("login", "token_secret"), field: "spec.metaData.secretRef.name"},
	} {
		set, err := FromObjects(tenancy(c.allow, c.vm, c.more...)...)
		if err != nil {
			t.Fatal(err)
		}
		parts := set.Parts(Options{Set: "test"})
		var fields []string
		for _, e := range parts.Errors {
			fields = append(fields, e.Field)
			if !e.Forbidden {
				t.Errorf("%s: %v", c.reason, e)
			}
			if !strings.Contains(e.Text, "Provider proxmox") {
				t.Errorf("%s: it doesn't say who forbids it: %v", c.reason, e)
			}
		}
		made := len(parts.Wanted[0].Desired.VMs) == 1
		if want := c.field == ""; made != want || !want && !slices.Equal(fields, []string{c.field}) {
			t.Errorf("%s: made %v, errors %v", c.reason, made, parts.Errors)
		}
	}
}

// What is forbidden can go all the same, and is in nobody's way.
func TestAMachineThatIsForbiddenCanBeDeleted(t *testing.T) {
	now := metav1.Now()
	set, err := FromObjects(tenancy(nil, func(vm *api.VirtualMachine) {
		vm.DeletionTimestamp, vm.Status.VMID, vm.Status.Provider = &now, 123, "proxmox"
		vm.Spec.ExtraConfig = map[string]string{"args": "-device x"}
	})...)
	if err != nil {
		t.Fatal(err)
	}
	parts := set.Parts(Options{Set: "test"})
	if vms := parts.Wanted[0].Desired.VMs; len(vms) != 1 || !vms[0].Deleted || len(parts.Errors) > 0 {
		t.Errorf("want it to go, have %v, errors %v", vms, parts.Errors)
	}
}

// In Kubernetes, sources by VMID are templates only, unless the Provider names them.
func TestSourcesAreTemplatesUnlessTheProviderNamesThem(t *testing.T) {
	for _, c := range []struct {
		allow *api.ProviderAllow
		only  bool
	}{{nil, true}, {&api.ProviderAllow{}, true}, {&api.ProviderAllow{Sources: []string{"9000"}}, false}} {
		set, err := FromObjects(tenancy(c.allow, func(*api.VirtualMachine) {})...)
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := set.Wanted(Options{Set: "test"})
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(wanted[0].Desired.Images, func(i model.Image) bool { return i.VMID == 9000 }); i < 0 || wanted[0].Desired.Images[i].OnlyTemplate != c.only {
			t.Errorf("with %v: %v", c.allow, wanted[0].Desired.Images)
		}
	}
}

// An image that one Provider forbids is still there for another one.
func TestAnImageIsForbiddenByEachProviderForItself(t *testing.T) {
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "team-a", Name: name} }
	second := &api.Provider{ObjectMeta: at("second"), Spec: api.ProviderSpec{Endpoint: "https://two.example.com:8006", CredentialSecretRef: &api.Ref{Name: "login"}}}
	vm := &api.VirtualMachine{ObjectMeta: at("other"), Spec: api.VirtualMachineSpec{ClassRef: api.SharedRef{Name: "small"}, ImageRef: &api.SharedRef{Name: "image"}, ProviderRef: &api.Ref{Name: "second"}}}
	set, err := FromObjects(tenancy(&api.ProviderAllow{Sources: []string{}}, func(vm *api.VirtualMachine) { vm.Spec.ProviderRef = &api.Ref{Name: "proxmox"} }, second, vm)...)
	if err != nil {
		t.Fatal(err)
	}
	parts := set.Parts(Options{Set: "test"})
	if len(parts.Errors) != 1 || parts.Errors[0].Object.Name != "web" || parts.Errors[0].Field != "spec.imageRef.name" {
		t.Errorf("errors %v", parts.Errors)
	}
	for _, w := range parts.Wanted {
		if n := len(w.Desired.Images) + len(w.Desired.VMs); n != map[string]int{"proxmox": 0, "second": 2}[w.Provider.Name] {
			t.Errorf("%s has %v and %v", w.Provider.Name, w.Desired.Images, w.Desired.VMs)
		}
	}
}
