package manifest

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
)

// In Kubernetes it is written down which machines of an object were made: those that
// it doesn't ask for any more go, if they may.
func TestACountInKubernetesKnowsWhatWasMade(t *testing.T) {
	for _, c := range []struct {
		policy  api.Permission
		uid     types.UID
		members string // the annotation; empty: there is none
		want    string
	}{
		{api.Never, "u-1", "", "web-1@0 web-2@101 web-4@104"},
		{api.Allow, "u-1", "", "web-1@0 web-2@101 web-4@104 goes"},
		{api.Allow, "u-1", "5", "web-1@0 web-2@101 web-4@104 goes"},
		// None is made before it is written down how many there are.
		{api.Never, "u-1", "1", "web-1@0 web-2@101 web-4@104"},
		{api.Never, "u-1", "0", "web-2@101 web-4@104"},
		// One that was restored from a backup may have more than its status names.
		{api.Never, "u-2", "5", "web-1@0 web-2@101 web-4@104"},
		{api.Allow, "u-2", "5", "web-1@0 web-2@101 web-4@104 goes web-3@0 goes web-5@0 goes"},
	} {
		vm := &api.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: c.uid, Annotations: map[string]string{api.Identity: "u-1"}}}
		if c.members != "" {
			vm.Annotations[api.Members] = c.members
		}
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
			t.Errorf("%s, %s, %q: %s, want %s", c.policy, c.uid, c.members, text, c.want)
		}
	}
}
