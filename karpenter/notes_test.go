package karpenter

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/proxplane/proxplane/pvesim"
)

// Who writes notes of his own over those of a machine takes its proof of ownership away: it isn't destroyed then, and isn't said to be gone.
func TestAMachineWhoseNotesWereOverwrittenIsntGone(t *testing.T) {
	for _, registered := range []bool{true, false} {
		inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
			l.settle()
			c := l.create(l.claim("node-1"))
			if registered {
				l.initialized(c)
			}
			id := vmidOf(t, c)
			l.sim.Do(func(s *pvesim.State) { s.VMs[id].Conf["description"] = "do not touch, Bob" })
			l.regions.all["lab"].Site.Look()
			time.Sleep(time.Minute)
			if err := l.Delete(t.Context(), c); err == nil || cloudprovider.IsNodeClaimNotFoundError(err) || !strings.Contains(err.Error(), "write back what they were") {
				t.Errorf("registered %v: got %v", registered, err)
			}
			if !l.listed()[c.Status.ProviderID] {
				t.Errorf("registered %v: Karpenter takes it for gone", registered)
			}
			if _, err := l.Get(t.Context(), c.Status.ProviderID); err != nil {
				t.Errorf("registered %v: got %v", registered, err)
			}
			// Once it is destroyed by hand, the NodeClaim goes.
			l.sim.Do(func(s *pvesim.State) { delete(s.VMs, id) })
			time.Sleep(time.Minute)
			var err error
			for range 20 {
				if err = l.Delete(t.Context(), c); cloudprovider.IsNodeClaimNotFoundError(err) {
					if _, err := l.Get(t.Context(), c.Status.ProviderID); !cloudprovider.IsNodeClaimNotFoundError(err) {
						t.Errorf("registered %v: got %v", registered, err)
					}
					return
				}
				time.Sleep(10 * time.Second)
			}
			t.Errorf("registered %v: got %v", registered, err)
		})
	}
}
