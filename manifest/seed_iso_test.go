package manifest

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
)

// An ISO image with the first-boot data of some machine isn't for others to read.
func TestFirstBootDataOfOthersAreNoImage(t *testing.T) {
	for iso, want := range map[string]bool{
		"proxplane-10023-0123456789ab.iso": false, "local:iso/proxplane-10023-0123456789ab.iso": false,
		"debian.iso": true, "local:iso/proxplane-docs.iso": true,
	} {
		image := &api.VMImage{ObjectMeta: metav1.ObjectMeta{Name: "image"}, Spec: api.VMImageSpec{ISO: iso}}
		set, err := FromObjects(image)
		if err != nil {
			t.Fatal(err)
		}
		errs := set.Parts(env(login)).Errors
		if good := len(errs) == 0; good != want || !want && !strings.Contains(errs[0].Text, "first-boot data of a machine") {
			t.Errorf("%s: %v", iso, errs)
		}
	}
}
