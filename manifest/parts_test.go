package manifest

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
)

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "ns", UID: "u-1"}
}

func deleted(name string) metav1.ObjectMeta {
	m := meta(name)
	m.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return m
}

func ref(name string) *api.Ref { return &api.Ref{Name: name} }

func clusterObjects() []any {
	class := &api.VMClass{ObjectMeta: meta("small"), Spec: api.VMClassSpec{CPUs: 1}}
	class.Spec.Memory.Set(1 << 30)
	return []any{
		class,
		&api.VMImage{ObjectMeta: meta("debian"), Spec: api.VMImageSpec{Source: "debian"}},
		&api.Provider{ObjectMeta: meta("pve"), Spec: api.ProviderSpec{Endpoint: "https://pve:8006", CredentialSecretRef: ref("login")}},
	}
}

func vm(m metav1.ObjectMeta, class string) *api.VirtualMachine {
	return &api.VirtualMachine{ObjectMeta: m, Spec: api.VirtualMachineSpec{ClassRef: api.SharedRef{Name: class}, ImageRef: &api.SharedRef{Name: "debian"}}}
}

func parts(t *testing.T, find func(model.Key) any, objects ...any) Parts {
	t.Helper()
	set, err := FromObjects(append(clusterObjects(), objects...)...)
	if err != nil {
		t.Fatal(err)
	}
	return set.Parts(Options{Set: "test", Find: find})
}

func login1(k model.Key) any {
	if k != (model.Key{Kind: "Secret", Namespace: "ns", Name: "login"}) {
		return nil
	}
	return &Secret{ObjectMeta: meta("login"), StringData: map[string]string{"token_id": "me@pve!x", "token_secret": "s"}}
}

func namesOf(d model.Desired) string {
	var names []string
	for _, v := range d.VMs {
		names = append(names, v.Name)
	}
	for _, s := range d.Snapshots {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

func TestWhatIsWrongKeepsNobodyElseBack(t *testing.T) {
	p := parts(t, login1,
		&api.VMClass{ObjectMeta: meta("wrong"), Spec: api.VMClassSpec{CPUs: 1}}, // without memory
		vm(meta("good"), "small"),
		vm(meta("no-class"), "large"),
		vm(meta("wrong-class"), "wrong"),
		vm(deleted("leaving"), "large"),
		&api.VMSnapshot{ObjectMeta: meta("of-good"), Spec: api.VMSnapshotSpec{VMRef: api.Ref{Name: "good"}}},
		&api.VMSnapshot{ObjectMeta: meta("of-wrong"), Spec: api.VMSnapshotSpec{VMRef: api.Ref{Name: "no-class"}}},
		&api.VMSnapshot{ObjectMeta: deleted("of-nothing"), Spec: api.VMSnapshotSpec{VMRef: api.Ref{Name: "no-more"}}},
	)
	if got := namesOf(p.Wanted[0].Desired); got != "good leaving of-good" {
		t.Errorf("wanted is %q", got)
	}
	const want = `VMClass ns/wrong: spec.memory: is missing
VirtualMachine ns/no-class: spec.classRef.name: there is no VMClass large in namespace ns; there is small and wrong
VirtualMachine ns/wrong-class: spec.classRef.name: VMClass ns/wrong isn't right itself
VMSnapshot ns/of-wrong: spec.vmRef.name: VirtualMachine ns/no-class isn't right itself`
	if p.Errors.Error() != want {
		t.Errorf("errors are\n%s\nwant\n%s", p.Errors, want)
	}
	if p.Wanted[0].Connection.Credentials.IsZero() {
		t.Error("the Secret wasn't asked for")
	}
}

func TestMachinesStayWantedWhenTheLoginIsGone(t *testing.T) {
	p := parts(t, func(model.Key) any { return nil }, vm(meta("web"), "small"))
	if got := namesOf(p.Wanted[0].Desired); got != "web" {
		t.Errorf("wanted is %q", got)
	}
	if want := "Provider ns/pve: spec.credentialSecretRef.name: there is no Secret login in namespace ns"; p.Errors.Error() != want {
		t.Errorf("errors are %s", p.Errors)
	}
}

func TestAMachineStaysWithItsProviderAndItsVMID(t *testing.T) {
	held := vm(meta("web"), "small")
	held.Status.Provider, held.Status.VMID = "pve", 12345
	other := &api.Provider{ObjectMeta: meta("other"), Spec: api.ProviderSpec{Endpoint: "https://other:8006", CredentialSecretRef: ref("login")}}
	p := parts(t, login1, other, held)
	if got := p.Wanted[0].Desired.VMs; len(p.Errors) > 0 || len(got) != 1 || got[0].Remembered != 12345 {
		t.Errorf("%+v, %v", got, p.Errors)
	}
	moved := held.DeepCopy()
	moved.Spec.ProviderRef = ref("other")
	p = parts(t, login1, other, moved)
	if len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Text, "is on Provider pve") || len(p.Wanted[0].Desired.VMs)+len(p.Wanted[1].Desired.VMs) > 0 {
		t.Errorf("%v", p.Errors)
	}
	moved.DeletionTimestamp = &metav1.Time{}
	p = parts(t, login1, other, moved)
	if len(p.Errors) > 0 || len(p.Wanted[0].Desired.VMs) != 1 {
		t.Errorf("to be deleted it has to be where it is: %v", p.Errors)
	}
}

func TestACopyThatIsMadeIsRightWhateverBecomesOfItsSource(t *testing.T) {
	static := vm(meta("golden"), "small")
	static.Spec.Networks = []api.Network{{Name: "lan", StaticIP: &api.StaticIP{Address: "10.0.0.5/24"}}}
	invalid := vm(meta("golden"), "large")
	invalid.Spec.UserData = &api.UserData{CloudInit: &api.CloudInit{Text: api.Text{SecretRef: &api.SecretKeyRef{Name: "no-such-secret", Key: "x"}}}}
	elsewhere := vm(meta("golden"), "small")
	elsewhere.Spec.ProviderRef = ref("other")
	iso := &api.VMImage{ObjectMeta: meta("golden"), Spec: api.VMImageSpec{ISO: "local:iso/golden.iso"}}
	circle := &api.VMClone{ObjectMeta: meta("golden"), Spec: api.VMCloneSpec{SourceVMRef: api.Ref{Name: "copy"}, ProviderRef: ref("pve")}}
	for reason, source := range map[string]any{
		"the source is gone": nil, "it has an address of its own": static, "it isn't right": invalid, "it is on another Provider": elsewhere,
		"it is an ISO image": iso, "it is a copy of the copy": circle,
	} {
		t.Run(reason, func(t *testing.T) {
			clone := &api.VMClone{ObjectMeta: meta("copy"), Spec: api.VMCloneSpec{SourceVMRef: api.Ref{Name: "golden"}, Snapshot: "before"}}
			clone.Status.Provider, clone.Status.VMID = "pve", 12345
			other := &api.Provider{ObjectMeta: meta("other"), Spec: api.ProviderSpec{Endpoint: "https://other:8006", CredentialSecretRef: ref("login")}}
			objects := []any{other, clone}
			if source != nil {
				objects = append(objects, source)
			}
			p := parts(t, login1, objects...)
			for _, e := range p.Errors {
				if e.Object.Name == "copy" {
					t.Errorf("it is said of the copy: %v", e)
				}
			}
			if got := " " + namesOf(p.Wanted[0].Desired) + " "; !strings.Contains(got, " copy ") {
				t.Errorf("wanted is %q", got)
			}
		})
	}
}

// A translation that takes too long ends with what it has read so far.
func TestATranslationHasADeadline(t *testing.T) {
	with := func(name string) *api.VirtualMachine {
		v := vm(meta(name), "small")
		v.Spec.UserData = &api.UserData{CloudInit: &api.CloudInit{Text: api.Text{Inline: "#cloud-config\nlocale: C.UTF-8\n"}}}
		return v
	}
	objects := append(clusterObjects(), with("first"), with("second"), vm(meta("third"), "small"))
	set, err := FromObjects(objects...)
	if err != nil {
		t.Fatal(err)
	}
	// It is asked before the data of a machine are read, and before they are hashed unless
	// the same were hashed before.
	asked, never := 0, rand.Text() // so that the set was never hashed before
	p := set.Parts(Options{Set: never, Find: login1, Late: func() bool { asked++; return asked > 2 }})
	if got := namesOf(p.Wanted[0].Desired); got != "first third" {
		t.Errorf("wanted is %q", got)
	}
	if want := "VirtualMachine ns/second: spec.userData: wasn't read: the first-boot data in namespace ns take longer to read than they may; make them smaller, or use several namespaces"; p.Errors.Error() != want {
		t.Errorf("errors are %s", p.Errors)
	}
}

// What stood for first-boot data in markers of earlier versions is known for ever: machines
// that were made by them would look changed otherwise, and those with Ignition be replaced.
func TestTheDigestsOfEarlierVersionsAreKnown(t *testing.T) {
	v := vm(meta("web"), "small")
	v.Spec.UserData = &api.UserData{CloudInit: &api.CloudInit{Text: api.Text{Inline: "#cloud-config\nlocale: C.UTF-8\n"}}}
	all := parts(t, login1, v).Wanted[0].Desired.VMs
	const want = "cc48f90878fae34a3328f29723da529fe7a71f620aaed7189f979cbc6f109349"
	if got := all[0].Seed.Secret.Plain; got != want {
		t.Errorf("the digest is %s", got)
	}
	if got, want := model.PasswordSecret("not-shown").Plain, "6608f874760b"; got != want {
		t.Errorf("the mark of a password is %s", got)
	}
}

func BenchmarkParts(b *testing.B) {
	objects := clusterObjects()
	for i := range 10_000 {
		objects = append(objects, vm(meta(fmt.Sprintf("web-%d", i)), "small"))
	}
	for b.Loop() {
		set, err := FromObjects(objects...)
		if err != nil {
			b.Fatal(err)
		}
		set.Parts(Options{Set: "test", Find: login1})
	}
}

// An object that exists and was left out of the set isn't called missing.
func TestWhatWasLeftOutIsNotCalledMissing(t *testing.T) {
	t.Parallel()
	web := vm(meta("web"), "small")
	web.Spec.ImageRef.Name = "fetched"
	done := copyOf("done", "old")
	done.Status.VMID = 105
	set, err := FromObjects(append(clusterObjects(), web, &api.VMSnapshot{ObjectMeta: meta("before"), Spec: api.VMSnapshotSpec{VMRef: api.Ref{Name: "old"}}},
		copyOf("twin", "old"), copyOf("of-image", "fetched"), done, copyOf("of-done", "done"))...)
	if err != nil {
		t.Fatal(err)
	}
	apart := func(key model.Key) string {
		if key == (model.Key{Kind: "VMImage", Namespace: "ns", Name: "fetched"}) || key == (model.Key{Kind: "VirtualMachine", Namespace: "ns", Name: "old"}) {
			return "it is another Kubernetes'"
		}
		return ""
	}
	all := set.Parts(Options{Set: "test", Find: login1, Apart: apart})
	errs := all.Errors
	for _, want := range []string{
		"VirtualMachine ns/web: spec.imageRef.name: VMImage ns/fetched can't be used: it is another Kubernetes'",
		"VMSnapshot ns/before: spec.vmRef.name: VirtualMachine ns/old can't be used: it is another Kubernetes'",
		"VMClone ns/twin: spec.sourceVMRef.name: VirtualMachine ns/old can't be used: it is another Kubernetes'",
		"VMClone ns/of-image: spec.sourceVMRef.name: VMImage ns/fetched can't be used: it is another Kubernetes'",
		"VMClone ns/of-done: spec.sourceVMRef.name: VirtualMachine ns/old can't be used: it is another Kubernetes'",
	} {
		if !strings.Contains(errs.Error(), want) {
			t.Errorf("no %q in:\n%v", want, errs)
		}
	}
	// A template of Proxmox may have the name of a machine that was left out.
	if got := namesOf(all.Wanted[0].Desired); got != "done" {
		t.Errorf("wanted: %s; a copy that is made stands alone, and the others aren't made from something else", got)
	}
}

func copyOf(name, source string) *api.VMClone {
	return &api.VMClone{ObjectMeta: meta(name), Spec: api.VMCloneSpec{SourceVMRef: api.Ref{Name: source}}}
}
