package machines

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
)

// on has the next process work on a simulated Proxmox.
func (l *lab) on(sim *pvesim.Sim) (end func()) {
	l.t.Helper()
	tr, stop := sim.Transport()
	o := l.Options
	o.Sites, o.Proxmox = new(site.Sites), tr
	l.begin(o, l.client)
	return func() {
		l.close()
		stop()
	}
}

// onBoth has the next process work on two simulated Proxmox, of which the second one has the host elsewhere.
func (l *lab) onBoth(sim, elsewhere *pvesim.Sim) (end func()) {
	l.t.Helper()
	one, stop := sim.Transport()
	other, stopOther := elsewhere.Transport()
	o := l.Options
	o.Sites, o.Proxmox = new(site.Sites), byHost{one, other}
	l.begin(o, l.client)
	return func() {
		l.close()
		stop()
		stopOther()
	}
}

type byHost struct{ one, elsewhere http.RoundTripper }

// RoundTrip sends a request to the one that has the host.
func (b byHost) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Host, "elsewhere") {
		return b.elsewhere.RoundTrip(r)
	}
	return b.one.RoundTrip(r)
}

// edit changes a Machine.
func (l *lab) edit(name string, change func(m *clusterv1alpha1.Machine)) {
	l.t.Helper()
	m := l.machine(name)
	change(m)
	if err := l.direct.Update(l.t.Context(), m); err != nil {
		l.t.Fatal(err)
	}
}

func says(words string) func(*clusterv1alpha1.Machine) bool {
	return func(m *clusterv1alpha1.Machine) bool {
		return m != nil && strings.Contains(condition(m), words) && m.Status.ErrorMessage != nil && strings.Contains(*m.Status.ErrorMessage, words)
	}
}

func isGone(m *clusterv1alpha1.Machine) bool { return m == nil }

// Another Proxmox that answers at the endpoint doesn't know the machines: they aren't gone. Nothing is replaced, and no Machine is let go whose guest is elsewhere.
func TestMachinesOfAnotherProxmoxArentGone(t *testing.T) {
	where := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "where"}, Data: map[string]string{"url": "https://pve1:8006"}}
	inLab(t, labWorld(), []client.Object{where}, func(t *testing.T, l *lab) {
		other, err := pvesim.New(labWorld(), pvesim.WithSeed(7))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()

		m := machineOf("md-1", `"endpoint":{"configMapKeyRef":{"namespace":"kube-system","name":"where","key":"url"}}`)
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.k8s.io/v1alpha1", Kind: "MachineSet", Name: "md", UID: "set", Controller: new(true)}}
		l.add(m)
		l.until("md-1", "it runs", inPhase(phaseJoining))
		l.close()

		end := l.on(other)
		const text = "is in another Proxmox cluster"
		l.until("md-1", "it says so", says(text))
		time.Sleep(time.Minute)
		if m := l.look("md-1"); m.DeletionTimestamp != nil || !says(text)(m) {
			t.Errorf("it says %+v", m.Status)
		}
		if err := l.direct.Delete(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		l.until("md-1", "it stays and says why", says(text))
		time.Sleep(time.Minute)
		l.until("md-1", "it stays", says(text))
		other.Do(func(s *pvesim.State) {
			if len(s.VMs) != 1 {
				t.Errorf("the other Proxmox has %d VMs", len(s.VMs))
			}
		})
		end()

		defer l.on(l.sim)()
		if l.guest("md-1") == nil {
			t.Error("the guest is gone")
		}
		l.until("md-1", "it goes", isGone)
		if l.guest("md-1") != nil {
			t.Error("the guest is left")
		}
	})
}

// A Machine whose providerSpec is changed while its guest is there stays ours: it is removed with its guest, or says why it isn't.
func TestAChangedProviderSpecLeavesNoGuestBehind(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		for name, c := range map[string]struct{ old, new, stays string }{
			"size":     {`"memoryMB":1024`, `"memoryMB":4096`, ""},
			"template": {`"vmTemplateID":9000`, `"vmTemplateID":9999`, ""},
			"provider": {`"cloudProvider":"proxmox"`, `"cloudProvider":"aws"`, `cloudProvider: want proxmox, have "aws"`},
			"field":    {`"memoryMB":1024`, `"memory":1024`, "did you mean"},
			"endpoint": {"https://pve1:8006", "https://elsewhere:8006", "is in another Proxmox cluster"},
		} {
			t.Run(fmt.Sprint(name, restarted), func(t *testing.T) {
				inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
					other, err := pvesim.New(labWorld(), pvesim.WithSeed(7))
					if err != nil {
						t.Fatal(err)
					}
					defer other.Close()
					l.close()
					defer l.onBoth(l.sim, other)()
					l.add(machineOf("md-1"))
					l.until("md-1", "it runs", inPhase(phaseJoining))
					change := func(from, to string) {
						l.edit("md-1", func(m *clusterv1alpha1.Machine) {
							m.Spec.ProviderSpec.Value.Raw = []byte(strings.Replace(string(m.Spec.ProviderSpec.Value.Raw), from, to, 1))
						})
					}
					change(c.old, c.new)
					l.until("md-1", "it says so", says("a Machine stays as it was made"))
					if restarted {
						l.close()
						defer l.onBoth(l.sim, other)()
						l.until("md-1", "it says so again", says("a Machine stays as it was made"))
					}
					if err := l.direct.Delete(t.Context(), l.machine("md-1")); err != nil {
						t.Fatal(err)
					}
					if c.stays != "" {
						l.until("md-1", "it says why it stays", says(c.stays))
						if l.guest("md-1") == nil {
							t.Error("the guest is gone")
						}
						change(c.new, c.old)
					}
					l.until("md-1", "it goes", isGone)
					if l.guest("md-1") != nil || len(l.volumes("iso/")) > 0 {
						t.Error("something is left")
					}
				})
			})
		}
	}
}

// Finalizers that somebody removes by force leave the guest in Proxmox, and nobody looks after it any more.
func TestAMachineThatIsRemovedByForceIsForgotten(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		l.add(machineOf("md-1"))
		l.until("md-1", "it runs", inPhase(phaseJoining))
		l.edit("md-1", func(m *clusterv1alpha1.Machine) { m.Finalizers = nil })
		if m := l.look("md-1"); !slices.Contains(m.Finalizers, finalizerInstance) {
			t.Errorf("the finalizers are %v", m.Finalizers)
		}
		l.edit("md-1", func(m *clusterv1alpha1.Machine) { m.Finalizers = nil })
		if err := l.direct.Delete(t.Context(), l.machine("md-1")); err != nil {
			t.Fatal(err)
		}
		l.look("md-1")
		time.Sleep(time.Minute)
		if l.guest("md-1") == nil {
			t.Error("the guest is gone")
		}
		for _, b := range l.fleet.list() {
			if len(b.machines) > 0 {
				t.Errorf("it is looked after: %v", b.machines)
			}
		}
	})
}

// The Secret of the login that is deleted before the Machine: whoever knows the token still uses it, and else it is said what is missing.
func TestASecretThatIsDeletedBeforeItsMachine(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
			l.add(machineOf("md-1"))
			l.until("md-1", "it runs", inPhase(phaseJoining))
			var s corev1.Secret
			if err := l.direct.Get(t.Context(), client.ObjectKey{Namespace: "kube-system", Name: "proxmox"}, &s); err != nil {
				t.Fatal(err)
			}
			if err := l.direct.Delete(t.Context(), &s); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if restarted {
				l.close()
				defer l.on(l.sim)()
			}
			if err := l.direct.Delete(t.Context(), l.machine("md-1")); err != nil {
				t.Fatal(err)
			}
			if restarted {
				m := l.until("md-1", "it says what is missing", says("there is no Secret kube-system/proxmox"))
				if !strings.Contains(*m.Status.ErrorMessage, ForceDelete) {
					t.Errorf("it says %s", *m.Status.ErrorMessage)
				}
				l.add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}, Data: s.Data})
			}
			l.until("md-1", "it goes", isGone)
			if l.guest("md-1") != nil {
				t.Error("the guest is left")
			}
		})
	}
}

// A Machine that is deleted at any moment while its guest is made leaves nothing.
func TestAMachineThatIsDeletedWhileItsGuestIsMade(t *testing.T) {
	for after := time.Duration(0); after < 8*time.Second; after += 300 * time.Millisecond {
		inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
			wake, end := l.control()
			defer end()
			m := machineOf("md-1")
			born(m, time.Now())
			l.add(m)
			wake("md-1")
			time.Sleep(after)
			if err := l.direct.Delete(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			wake("md-1")
			l.await(t.Context(), "it is gone", func() bool { return l.is("md-1", "") })
			time.Sleep(time.Minute)
			if have := l.vms(); len(have) > 0 || len(l.volumes("iso/")) > 0 || len(l.volumes("vm-")) > 0 {
				t.Errorf("deleted after %s: left are %v, %v and %v", after, have, l.volumes("iso/"), l.volumes("vm-"))
			}
		})
	}
}

// The name of a Machine is that of its guest.
func TestANameThatNoGuestCanHaveIsRefused(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		name := strings.Repeat("a", 64)
		l.add(machineOf(name))
		l.until(name, "it says so", says("metadata.name: want a host name"))
	})
}

// An endpoint where no Proxmox answers is said in a condition and a warning, once, and nothing has to be let go by force.
func TestAnEndpointWhereNobodyAnswers(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		tr, stop := l.sim.Transport()
		stop()
		o := l.Options
		o.Sites, o.Proxmox = new(site.Sites), tr
		l.close()
		l.begin(o, l.client)
		l.add(machineOf("md-1"))
		l.until("md-1", "it says so", func(m *clusterv1alpha1.Machine) bool { return strings.HasPrefix(condition(m), "ProxmoxAway: ") })
		for range 20 {
			l.look("md-1")
			time.Sleep(10 * time.Second)
		}
		said := 0
		for len(l.said.Events) > 0 {
			if e := <-l.said.Events; strings.HasPrefix(e, "Warning ProxmoxAway") {
				said++
			}
		}
		if said != 1 {
			t.Errorf("there are %d warnings", said)
		}
		if err := l.direct.Delete(t.Context(), l.machine("md-1")); err != nil {
			t.Fatal(err)
		}
		l.until("md-1", "it goes", isGone)
	})
}

// A Machine of machine-controller that is being deleted while that doesn't run isn't silent about who is waited for.
func TestAMachineOfAnotherProviderSaysWhoRemovesIt(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		m := machineOf("md-1")
		m.Spec.ProviderSpec.Value.Raw = []byte(`{"cloudProvider":"aws"}`)
		m.Finalizers = []string{finalizerInstance, finalizerNode}
		l.add(m)
		if err := l.direct.Delete(t.Context(), l.machine("md-1")); err != nil {
			t.Fatal(err)
		}
		if m := l.look("md-1"); m == nil || len(m.Finalizers) != 2 {
			t.Errorf("it is let go: %v", m)
		}
		if !l.warned("is removed by machine-controller, which doesn't run") {
			t.Error("nobody says so")
		}
	})
}

// Somebody who writes a Machine just when its VMID is written down doesn't hold it up.
func TestAClaimThatMeetsAnotherWrite(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		writes := 0
		works := l.direct
		direct := interceptor.NewClient(works.(client.WithWatch), interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if m, ok := o.(*clusterv1alpha1.Machine); ok && writes < 3 && m.Status.ProviderStatus != nil {
					writes++
					l.edit(m.Name, func(m *clusterv1alpha1.Machine) { m.Annotations = map[string]string{"seen": fmt.Sprint(writes)} })
				}
				return c.Patch(ctx, o, patch, opts...)
			},
		})
		l.close()
		l.begin(l.Options, works)
		l.fleet.direct = direct
		l.add(machineOf("md-1"))
		m := l.until("md-1", "it runs", inPhase(phaseJoining))
		if writes != 3 || m.Annotations["seen"] != "3" || len(l.vms()) != 1 {
			t.Errorf("%d writes, %v, %v", writes, m.Annotations, l.vms())
		}
		for len(l.said.Events) > 0 {
			if e := <-l.said.Events; strings.HasPrefix(e, "Warning") {
				t.Errorf("there is a warning: %s", e)
			}
		}
	})
}
