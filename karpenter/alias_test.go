package karpenter

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/site"
)

// Two Providers may stand for one Proxmox, such as one for each of its logins, and a region may get another name: a machine that is listed under another name
// than its NodeClaim has is still the machine of the NodeClaim.
func TestAMachineThatIsListedUnderAnotherRegionStays(t *testing.T) {
	for _, now := range [][]declared{{declaredAs("lab"), declaredAs("again")}, {declaredAs("renamed")}} {
		inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
			l.settle()
			c := l.create(l.claim("node-1"))
			l.initialized(c)
			l.regions.update(now)
			l.collects(t.Context())
			if !l.runs(vmidOf(t, c)) {
				t.Errorf("the machine of a NodeClaim in region lab has gone; the regions are %s, …", now[0].name)
			}
		})
	}
}

// A machine that was begun and not noted is found in the region that it was begun in, whichever other regions are the same Proxmox: its first-boot data have the
// provider ID.
func TestAMachineIsFoundInTheRegionThatItWasBegunIn(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		l.settle()
		c := l.claim("node-1")
		made, err := l.Create(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.regions.all["lab"].Site.Await(t.Context(), l.ownerOf(c), site.Running); err != nil {
			t.Fatal(err)
		}
		l.regions.update([]declared{declaredAs("again"), declaredAs("lab")})
		if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil { // the process is killed before Karpenter notes the ID
			t.Fatal(err)
		}
		again, err := l.Create(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if again.Status.ProviderID != made.Status.ProviderID {
			t.Errorf("it was %s and is %s", made.Status.ProviderID, again.Status.ProviderID)
		}
	})
}
