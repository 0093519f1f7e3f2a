package machines

import (
	"context"
	"errors"
	"testing"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// counting is a reader that counts.
type counting struct {
	client.Reader
	reads int
}

func (c *counting) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	c.reads++
	return c.Reader.Get(ctx, key, o, opts...)
}

// The cache of a controller may not have yet that a MachineSet is being deleted when its Machines go: no others are made in their place.
func TestAMachineSetThatIsBeingDeletedMakesNoMachines(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		set := &clusterv1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "md-1", UID: "uid-set", Finalizers: []string{metav1.FinalizerDeleteDependents}}}
		l.add(set)
		live := &counting{Reader: l.direct}
		c := selecting{l.client, nil, newParents(live)}
		create := func(name string, of *clusterv1alpha1.MachineSet) error {
			m := machineOf(name)
			if of != nil {
				m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, clusterv1alpha1.SchemeGroupVersion.WithKind("MachineSet"))}
			}
			return c.Create(t.Context(), m)
		}
		for _, name := range []string{"a", "b", "c"} {
			if err := create(name, set); err != nil {
				t.Error(err)
			}
		}
		if live.reads != 1 {
			t.Errorf("the MachineSet was read %d times for three Machines", live.reads)
		}
		time.Sleep(2 * seenAge) // virtual
		if err := l.direct.Delete(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		earlier := set.DeepCopy()
		earlier.UID = "uid-earlier"
		for _, of := range []*clusterv1alpha1.MachineSet{set, earlier} {
			if err := create("d", of); !errors.Is(err, errNoMore) || !conflict(err) {
				t.Errorf("of %s: %v", of.UID, err)
			}
		}
		if err := create("e", nil); err != nil {
			t.Error(err)
		}
	})
}

// A Proxmox cluster without machines isn't asked for ever.
func TestAClusterWithoutMachinesIsLeft(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		life := func(name string) {
			m := machineOf(name)
			l.add(m)
			l.until(name, "it runs", inPhase(phaseJoining))
			l.fleet.closeEmpty(time.Now().Add(2 * emptyAge))
			if err := l.direct.Delete(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			l.until(name, "it is gone", func(m *clusterv1alpha1.Machine) bool { return m == nil })
		}
		berths := func(want int) {
			t.Helper()
			if have := len(l.fleet.list()); have != want {
				t.Errorf("there are %d logins, want %d", have, want)
			}
		}
		life("md-1")
		l.fleet.closeEmpty(time.Now())
		berths(1)
		life("md-2") // which begins the time anew
		l.fleet.closeEmpty(time.Now())
		berths(1)
		l.fleet.closeEmpty(time.Now().Add(emptyAge))
		berths(0)
		from := l.sim.RequestCount()
		time.Sleep(10 * time.Minute) // virtual
		if asked := l.sim.Requests(from); len(asked) > 0 {
			t.Errorf("it is asked for %d things", len(asked))
		}
		life("md-3")
		berths(1)
	})
}
