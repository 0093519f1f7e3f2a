package karpenter

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// Who writes notes of his own over those of a machine takes its proof of ownership away: it isn't destroyed then, and isn't said to be gone.
func TestAMachineWhoseNotesWereOverwrittenIsntGone(t *testing.T) {
	for what, registered := range map[string]bool{"notes": true, "notes while it joins": false, "notes and tags": true} {
		inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
			l.settle()
			c := l.create(l.claim("node-1"))
			if registered {
				l.initialized(c)
			}
			id := vmidOf(t, c)
			l.sim.Do(func(s *pvesim.State) {
				s.VMs[id].Conf["description"] = "do not touch, Bob"
				if strings.Contains(what, "tags") {
					s.VMs[id].Conf["tags"], s.VMs[id].Conf["name"] = "bob", "bob"
				}
			})
			l.regions.all["lab"].Site.Look()
			time.Sleep(time.Minute)
			var err error
			for range 12 { // no list shows it: the notes are read again before the machine would be destroyed
				if err = l.Delete(t.Context(), c); err != nil {
					break
				}
				time.Sleep(5 * time.Second)
			}
			if err == nil || cloudprovider.IsNodeClaimNotFoundError(err) || !strings.Contains(err.Error(), "write back what they were") {
				t.Errorf("%s: got %v", what, err)
			}
			if !l.runs(id) {
				t.Errorf("%s: it was stopped", what)
			}
			if !l.listed()[c.Status.ProviderID] {
				t.Errorf("%s: Karpenter takes it for gone", what)
			}
			if _, err := l.Get(t.Context(), c.Status.ProviderID); err != nil {
				t.Errorf("%s: got %v", what, err)
			}
			// Once it is destroyed by hand, the NodeClaim goes.
			l.sim.Do(func(s *pvesim.State) { delete(s.VMs, id) })
			time.Sleep(time.Minute)
			for range 20 {
				if err = l.Delete(t.Context(), c); cloudprovider.IsNodeClaimNotFoundError(err) {
					if _, err := l.Get(t.Context(), c.Status.ProviderID); !cloudprovider.IsNodeClaimNotFoundError(err) {
						t.Errorf("%s: got %v", what, err)
					}
					return
				}
				time.Sleep(10 * time.Second)
			}
			t.Errorf("%s: got %v", what, err)
		})
	}
}

// A Kubernetes that has got another name knows that its machines are there, and why it can't remove them; with the former name it can again.
func TestMachinesStayWhenTheKubernetesIsRenamed(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		l.settle()
		c := l.create(l.claim("node-1"))
		l.initialized(c)
		l.regions.close()
		_, end := l.process(0, false)
		l.set = "renamed"
		collect := &collector{direct: l.client, provider: l.CloudProvider, log: l.regions.log, missing: map[model.Owner]string{}}
		for range 3 {
			time.Sleep(time.Minute)
			if err := collect.round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if !l.listed()[c.Status.ProviderID] {
			t.Error("Karpenter takes it for gone")
		}
		if _, err := l.Get(t.Context(), c.Status.ProviderID); err != nil {
			t.Errorf("got %v", err)
		}
		if err := l.Delete(t.Context(), c); err == nil || cloudprovider.IsNodeClaimNotFoundError(err) || !strings.Contains(err.Error(), "was made when this Kubernetes was called k8s-lab, and it is called renamed now") {
			t.Errorf("got %v", err)
		}
		end()
		_, end = l.process(0, false)
		defer end()
		l.gone(c)
		if n := l.guests(); n != 0 {
			t.Errorf("%d machines are left", n)
		}
	})
}
