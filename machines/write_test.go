package machines

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	recorder "k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// late is a cache that has a Machine as it was.
type late struct {
	client.Client
	was *clusterv1alpha1.Machine
}

// Get reads an object.
func (c late) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if m, ok := o.(*clusterv1alpha1.Machine); ok && key == client.ObjectKeyFromObject(c.was) {
		c.was.DeepCopyInto(m)
		return nil
	}
	return c.Client.Get(ctx, key, o, opts...)
}

// What was written isn't written and told again because the cache doesn't have it yet; a cache that never gets it is believed in the end.
func TestALateCacheHasNothingWrittenTwice(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		l.add(machineOf("md-1"))
		was := l.look("md-1")
		l.until("md-1", "it runs", inPhase(phaseJoining))
		cache := l.client
		l.client = late{cache, was}
		patched, said := l.patched.Load(), len(l.said.Events)
		l.look("md-1")
		if now := l.patched.Load(); now != patched || len(l.said.Events) != said {
			t.Errorf("it was patched %d times, and %d events were emitted", now-patched, len(l.said.Events)-said)
		}
		time.Sleep(cacheLate)
		l.look("md-1")
		if l.patched.Load() == patched {
			t.Error("the Machine isn't looked at any more")
		}
		l.client = cache
		l.until("md-1", "it goes on", inPhase(phaseJoining))
	})
}

// That the first-boot data of a node go is a short change of a machine that is up to date: it isn't told, and costs no write of its own.
func TestTheEndOfFirstBootDataIsNoNews(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		wake, end := l.control()
		defer end()
		l.add(machineOf("md-1"))
		wake("md-1")
		for !inPhase(phaseJoining)(l.machine("md-1")) {
			time.Sleep(time.Second)
		}
		l.joinsAsNode(l.machine("md-1"))
		wake("md-1")
		for m := l.machine("md-1"); !inPhase(phaseRunning)(m) || !strings.HasPrefix(condition(m), reasonUpToDate); m = l.machine("md-1") {
			time.Sleep(time.Second)
		}
		patched := l.patched.Load()
		for len(l.said.Events) > 0 {
			<-l.said.Events
		}
		for range 120 {
			time.Sleep(time.Second)
			if is := condition(l.machine("md-1")); !strings.HasPrefix(is, reasonUpToDate) {
				t.Fatalf("it says %s", is)
			}
		}
		if !recordOf(l.machine("md-1")).SeedDropped || len(l.volumes("iso/")) > 0 {
			t.Error("the first-boot data are there")
		}
		if n := l.patched.Load() - patched; n > 1 || len(l.said.Events) > 0 {
			t.Errorf("the Machine was patched %d times, and %d events were emitted", n, len(l.said.Events))
		}
	})
}

// A Node that isn't ready yet mostly is in a moment: what the Machine says of it is written once then, or after a while all the same.
func TestANodeThatIsReadySoonIsWrittenOnce(t *testing.T) {
	for _, soon := range []bool{true, false} {
		inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
			wake, end := l.control()
			defer end()
			l.add(machineOf("md-1"))
			wake("md-1")
			for !strings.HasPrefix(condition(l.machine("md-1")), reasonUpToDate) {
				time.Sleep(100 * time.Millisecond)
			}
			patched := l.patched.Load()
			for len(l.said.Events) > 0 {
				<-l.said.Events
			}
			l.joinsAsNode(l.machine("md-1"))
			ready := func(is corev1.ConditionStatus) {
				var n corev1.Node
				if err := l.direct.Get(t.Context(), client.ObjectKey{Name: "md-1"}, &n); err != nil {
					t.Fatal(err)
				}
				n.Status.Conditions[0].Status, n.Status.Conditions[0].LastTransitionTime = is, metav1.Now()
				if err := l.direct.Status().Update(t.Context(), &n); err != nil {
					t.Fatal(err)
				}
				wake("md-1")
			}
			ready(corev1.ConditionFalse)
			time.Sleep(time.Second)
			if n := l.patched.Load() - patched; n > 0 {
				t.Errorf("soon %v: the Machine is patched %d times for a Node that isn't ready yet", soon, n)
			}
			if soon {
				ready(corev1.ConditionTrue)
				time.Sleep(time.Second)
			} else {
				time.Sleep(progressPause)
			}
			if m := l.machine("md-1"); m.Status.NodeRef == nil || inPhase(phaseRunning)(m) != soon {
				t.Errorf("soon %v: it says %+v", soon, m.Status)
			}
			if n := l.patched.Load() - patched; n != 1 {
				t.Errorf("soon %v: the Machine is patched %d times", soon, n)
			}
			joined := 0
			for len(l.said.Events) > 0 {
				if strings.Contains(<-l.said.Events, "NodeJoined") {
					joined++
				}
			}
			if joined != 1 {
				t.Errorf("soon %v: %d events say that it has joined", soon, joined)
			}
		})
	}
}

// machine reads a Machine.
func (l *lab) machine(name string) *clusterv1alpha1.Machine {
	l.t.Helper()
	var m clusterv1alpha1.Machine
	if err := l.direct.Get(l.t.Context(), client.ObjectKey{Namespace: "kube-system", Name: name}, &m); err != nil {
		l.t.Fatal(err)
	}
	return &m
}

func TestConflictsOfMachineControllersControllersAreNoWarnings(t *testing.T) {
	to := recorder.NewFakeRecorder(10)
	q := quiet{to}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "machinedeployments"}, "md", errors.New("changed"))
	q.Eventf(nil, corev1.EventTypeWarning, "ReconcileError", "%v", fmt.Errorf("update: %w", conflict))
	q.Eventf(nil, corev1.EventTypeWarning, "ReconcileError", "%v", errors.New("no selector"))
	if len(to.Events) != 1 || !strings.Contains(<-to.Events, "no selector") {
		t.Error("there is an event about a conflict, or none about the rest")
	}
}

// A guest whose Node comes at once is written with it, and without a Node after a moment. Its addresses are known to those who approve its certificates before.
func TestAGuestAndItsNodeAreWrittenTogether(t *testing.T) {
	for _, joins := range []bool{true, false} {
		inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
			wake, end := l.control()
			defer end()
			l.add(machineOf("md-1"))
			wake("md-1")
			for !inPhase(phaseJoining)(l.machine("md-1")) {
				time.Sleep(100 * time.Millisecond)
			}
			patched := l.patched.Load()
			for len(l.fleet.addresses(l.owner(l.machine("md-1")))) == 0 {
				time.Sleep(100 * time.Millisecond)
			}
			if one, err := (&joining{l.reconciler}).ByNode(t.Context(), "md-1"); err != nil || len(one.Addresses) == 0 {
				t.Errorf("joins %v: %+v, %v", joins, one, err)
			}
			if joins {
				time.Sleep(nodePause / 2)
				l.joinsAsNode(l.machine("md-1"))
				wake("md-1")
			}
			time.Sleep(nodePause + time.Second)
			m := l.machine("md-1")
			if len(m.Status.Addresses) == 0 || !strings.HasPrefix(condition(m), reasonUpToDate) || inPhase(phaseRunning)(m) != joins {
				t.Errorf("joins %v: %+v", joins, m.Status)
			}
			if n := l.patched.Load() - patched; n != 1 {
				t.Errorf("joins %v: it is patched %d times", joins, n)
			}
		})
	}
}
