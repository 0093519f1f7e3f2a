package machines

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/thorough"
)

// templates are the VMIDs of all templates.
func (l *lab) templates() (ids []int) {
	l.sim.Do(func(s *pvesim.State) {
		for id, vm := range s.VMs {
			if vm.Conf["template"] != "" {
				ids = append(ids, id)
			}
		}
	})
	return ids
}

// A template on local storage is copied to the node that a machine is for. When the last Machine is gone nothing of that is left, at whichever call a process was killed.
func TestNoCopyOfATemplateIsLeftWhenTheLastMachineIsGone(t *testing.T) {
	stride := 4
	if thorough.All() {
		stride = 1
	}
	for at, over := 1, false; !over; at += stride {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			w := labWorld()
			w.Guests[0].Config["scsi0"] = "local:8,format=qcow2"
			inLab(t, w, nil, func(t *testing.T, l *lab) {
				m := machineOf("md-1", `"nodes":["pve2"]`, `"storage":"local"`)
				l.add(m)
				_, end := l.process(0, false, "md-1")
				l.await(t.Context(), "it runs", func() bool { return l.is("md-1", phaseJoining) })
				end()
				if have := l.templates(); len(have) != 2 {
					t.Fatalf("the templates are %v", have)
				}
				if err := l.direct.Delete(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				gone := func() bool { return l.is("md-1", "") && len(l.templates()) == 1 }
				ctx, end := l.process(at, false, "md-1")
				over = l.await(ctx, "all is gone", gone)
				end()
				_, end = l.process(0, false, "md-1")
				defer func() { end() }()
				l.await(t.Context(), "the Machine is gone", func() bool { return l.is("md-1", "") })
				time.Sleep(time.Minute)
				if have := l.templates(); len(have) != 1 {
					t.Errorf("the templates are %v", have)
				}
			})
		})
	}
}

// A Machine that Proxmox was never reached for has nothing there: it goes without being let go by force.
func TestAMachineWithoutAGuestGoesThoughProxmoxRefusesTheLogin(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		var s corev1.Secret
		if err := l.direct.Get(t.Context(), client.ObjectKey{Namespace: "kube-system", Name: "proxmox"}, &s); err != nil {
			t.Fatal(err)
		}
		s.Data["token"] = []byte("00000000-0000-0000-0000-00000000dead")
		if err := l.direct.Update(t.Context(), &s); err != nil {
			t.Fatal(err)
		}
		l.add(machineOf("md-1"))
		m := l.until("md-1", "its login is refused", inPhase(phaseFailed))
		if !strings.Contains(condition(m), "LoginRefused") {
			t.Errorf("it says %s", condition(m))
		}
		if err := l.direct.Delete(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		l.until("md-1", "it goes", func(m *clusterv1alpha1.Machine) bool { return m == nil })
	})
}

// A VMID that is claimed while a Machine is let go is a guest that has to be removed first. None is claimed once it is being deleted.
func TestNothingIsMadeForAMachineThatIsBeingDeleted(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		m := machineOf("md-1")
		m.Finalizers = []string{finalizerInstance, finalizerNode}
		l.add(m)
		turn := &turn{reconciler: l.reconciler, m: m.DeepCopy(), before: m.DeepCopy(), owner: l.owner(m)}
		if ok, err := turn.prepare(t.Context()); err != nil || !ok {
			t.Fatalf("%+v %v", turn.said, err)
		}
		turn.m = m.DeepCopy()
		if err := l.fleet.claim(t.Context(), turn.berth, turn.owner, 123, "pve1"); err != nil {
			t.Fatal(err)
		}
		turn.m.Finalizers = nil
		if err := turn.store(t.Context()); !apierrors.IsConflict(err) {
			t.Errorf("the Machine is let go: %v", err)
		}
		now := l.machine("md-1")
		if len(now.Finalizers) != 2 || recordOf(now).VMID != 123 {
			t.Errorf("finalizers %v, %+v", now.Finalizers, recordOf(now))
		}
		if err := l.direct.Delete(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if err := l.fleet.claim(t.Context(), turn.berth, turn.owner, 124, "pve1"); !errors.Is(err, errDeleted) {
			t.Errorf("it was claimed: %v", err)
		}
	})
}

// Finalizers of others, which have come since the Machine was read, stay.
func TestFinalizersOfOthersStay(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		m := machineOf("md-1")
		l.add(m)
		turn := &turn{reconciler: l.reconciler, m: m.DeepCopy(), before: m.DeepCopy(), owner: l.owner(m)}
		m.Finalizers = []string{"example.com/backup"}
		if err := l.direct.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		turn.m.Finalizers = []string{finalizerInstance, finalizerNode}
		if err := turn.store(t.Context()); !apierrors.IsConflict(err) {
			t.Errorf("it is written: %v", err)
		}
		made := l.until("md-1", "it is made", inPhase(phaseJoining))
		if !slices.Equal(made.Finalizers, []string{"example.com/backup", finalizerInstance, finalizerNode}) {
			t.Errorf("the finalizers are %v", made.Finalizers)
		}
	})
}

// A Machine that others keep after its end, as Kubernetes' garbage collector does until what it owns is gone, is done with once.
func TestAMachineThatOthersKeepIsDoneWithOnce(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		m := machineOf("md-1")
		m.Finalizers = []string{"foregroundDeletion"}
		l.add(m)
		l.until("md-1", "it runs", inPhase(phaseJoining))
		if err := l.direct.Delete(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		l.until("md-1", "ours are gone", func(m *clusterv1alpha1.Machine) bool { return len(m.Finalizers) == 1 })
		for range 3 {
			l.look("md-1")
		}
		ends := 0
		for len(l.said.Events) > 0 {
			if strings.Contains(<-l.said.Events, "nothing of the machine is left") {
				ends++
			}
		}
		if ends != 1 {
			t.Errorf("it is said %d times that nothing is left", ends)
		}
	})
}
