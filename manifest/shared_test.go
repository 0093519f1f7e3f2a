package manifest

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/api/resource"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
)

func sharedClass(namespace string, with ...string) *api.VMClass {
	return &api.VMClass{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "golden"},
		Spec:       api.VMClassSpec{SharedWith: with, CPUs: 2, Memory: resource.MustParse("2Gi")},
	}
}

func borrower(namespace string, class, image api.SharedRef) []any {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "web"}
	return []any{
		&api.Provider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pve"}, Spec: api.ProviderSpec{Type: "proxmox", Endpoint: "https://pve1:8006", CredentialSecretRef: &api.Ref{Name: "login"}}},
		&Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "login"}, StringData: map[string]string{"token_id": "a@pve!b", "token_secret": "c"}},
		&api.VirtualMachine{ObjectMeta: meta, Spec: api.VirtualMachineSpec{ClassRef: class, ImageRef: &image}},
	}
}

func sharedImage(spec api.VMImageSpec, vmid int, with ...string) *api.VMImage {
	spec.SharedWith = with
	return &api.VMImage{ObjectMeta: metav1.ObjectMeta{Namespace: "base", Name: "debian", UID: "u-1"}, Spec: spec, Status: api.ImageStatus{VMID: vmid}}
}

// Who may not use an object can't tell whether it is there.
func TestOnlyWhatIsSharedCanBeUsed(t *testing.T) {
	class, image := api.SharedRef{Name: "golden", Namespace: "base"}, api.SharedRef{Name: "debian", Namespace: "base"}
	template := api.VMImageSpec{Source: "debian-12"}
	told := map[string]string{}
	for name, lent := range map[string][]any{
		"shared":           {sharedClass("base", "shop"), sharedImage(template, 0, "shop")},
		"shared with all":  {sharedClass("base", "*"), sharedImage(template, 0, "*")},
		"not shared":       {sharedClass("base"), sharedImage(template, 0)},
		"shared elsewhere": {sharedClass("base", "other"), sharedImage(template, 0, "sho", "shop2")},
		"not there":        {},
	} {
		set, err := FromObjects(borrower("shop", class, image)...)
		if err == nil {
			err = set.Lend(lent...)
		}
		if err != nil {
			t.Fatal(err)
		}
		parts := set.Parts(Options{Set: "k8s"})
		vms := parts.Wanted[0].Desired.VMs
		if strings.HasPrefix(name, "shared with all") || name == "shared" {
			if len(parts.Errors) > 0 || len(vms) != 1 || vms[0].Options["cores"] != "2" || vms[0].Source.Image.Namespace != "base" {
				t.Errorf("%s: %v, %+v", name, parts.Errors, vms)
			}
			if images := parts.Wanted[0].Desired.Images; len(images) != 1 || !images[0].Lent || images[0].Template != "debian-12" {
				t.Errorf("%s: %+v", name, images)
			}
			continue
		}
		if len(vms) != 0 {
			t.Errorf("%s: it is made", name)
		}
		told[parts.Errors.Error()] = name
	}
	if len(told) != 1 {
		t.Errorf("it can be told apart whether something is there: %v", told)
	}
	for text := range told {
		if !strings.Contains(text, "there is no VMClass golden in namespace base that is shared with namespace shop") {
			t.Error(text)
		}
	}
}

// What another namespace has fetched is found by the VMID there, and nothing is fetched or
// removed here.
func TestALentImageIsNeitherFetchedNorRemoved(t *testing.T) {
	image := sharedImage(api.VMImageSpec{URL: "https://example.com/debian.qcow2"}, 9001, "shop")
	image.DeletionTimestamp = &metav1.Time{}
	set, err := FromObjects(borrower("shop", api.SharedRef{Name: "golden", Namespace: "base"}, api.SharedRef{Name: "debian", Namespace: "base"})...)
	if err == nil {
		err = set.Lend(sharedClass("base", "shop"), image)
	}
	if err != nil {
		t.Fatal(err)
	}
	parts := set.Parts(Options{Set: "k8s"})
	images := parts.Wanted[0].Desired.Images
	if len(parts.Errors) > 0 || len(images) != 1 {
		t.Fatalf("%v, %+v", parts.Errors, images)
	}
	if i := images[0]; !i.Lent || i.Deleted || i.VMID != 9001 || i.Owner.Key != (model.Key{Kind: "VMImage", Namespace: "base", Name: "debian"}) || i.Owner.UID != "u-1" {
		t.Errorf("%+v", i)
	}
	if groups := parts.Wanted[0].Desired.VMs[0].Rollout.Groups; groups[0] != "vmclass/base/golden" {
		t.Errorf("it is restarted with %v", groups)
	}
}
