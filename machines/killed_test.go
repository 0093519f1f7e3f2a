package machines

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/test/kit/killed"
	"github.com/proxplane/proxplane/test/kit/thorough"
)

// process starts a process that works on Machines and is killed at one of its calls to Proxmox or writes to Kubernetes, and returns what ends with it; 0: it isn't killed.
func (l *lab) process(at int, arrives bool, names ...string) (ctx context.Context, end func()) {
	l.t.Helper()
	process, ctx := killed.At(l.t.Context(), at, arrives)
	tr, stop := l.sim.Transport()
	o := l.Options
	o.Sites, o.Proxmox = new(site.Sites), process.Wire(tr)
	l.begin(o, l.client)
	l.alive.Store(process)
	wake, idle := l.control()
	for _, name := range names {
		wake(name)
	}
	return ctx, func() {
		process.Kill()
		idle()
		l.close()
		stop()
		l.alive.Store(nil)
	}
}

// await waits until something holds, or a process is dead.
func (l *lab) await(ctx context.Context, what string, holds func() bool) (alive bool) {
	l.t.Helper()
	for range 600 {
		switch {
		case ctx.Err() != nil:
			return false
		case holds():
			return true
		}
		time.Sleep(time.Second) // virtual
	}
	l.t.Fatalf("%s: never", what)
	return false
}

// is reports whether a Machine is in a phase; empty: it is gone.
func (l *lab) is(name, phase string) bool {
	l.t.Helper()
	var m clusterv1alpha1.Machine
	err := l.direct.Get(l.t.Context(), client.ObjectKey{Namespace: "kube-system", Name: name}, &m)
	if client.IgnoreNotFound(err) != nil {
		l.t.Fatal(err)
	}
	return err != nil && phase == "" || err == nil && inPhase(phase)(&m)
}

// vms are the names of all that aren't templates.
func (l *lab) vms() (names []string) {
	l.sim.Do(func(s *pvesim.State) {
		for _, vm := range s.VMs {
			if vm.Conf["template"] == "" {
				names = append(names, vm.Name())
			}
		}
	})
	slices.Sort(names)
	return names
}

// A process that is killed at any of its calls while it makes and removes machines, and one that goes on: each Machine has one guest, nothing is left of those that are gone.
func TestAProcessIsKilledAtAnyOfItsCalls(t *testing.T) {
	stride := 6
	if thorough.All() {
		stride = 1
	}
	names := []string{"md-1", "md-2"}
	for _, arrives := range []bool{false, true} {
		for at, over := 1, false; !over; at += stride {
			t.Run(fmt.Sprintf("%d %v", at, arrives), func(t *testing.T) {
				inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
					for _, name := range names {
						l.add(machineOf(name))
					}
					run := func() bool { return l.is("md-1", phaseJoining) && l.is("md-2", phaseJoining) }
					gone := func() bool { return l.is("md-1", "") && l.is("md-2", "") }
					remove := func() {
						var errs []error
						for _, name := range names {
							errs = append(errs, client.IgnoreNotFound(l.direct.Delete(t.Context(), machineOf(name))))
						}
						if err := errors.Join(errs...); err != nil {
							t.Fatal(err)
						}
					}
					ctx, end := l.process(at, arrives, names...)
					made := l.await(ctx, "both run", run)
					end()
					over = made
					_, end = l.process(0, false, names...)
					l.await(t.Context(), "both run", run)
					if have := l.vms(); !slices.Equal(have, names) {
						t.Errorf("there are the machines %v", have)
					}
					end()

					remove()
					ctx, end = l.process(at, arrives, names...)
					over = l.await(ctx, "both are gone", gone) && over
					end()
					_, end = l.process(0, false, names...)
					defer func() { end() }()
					l.await(t.Context(), "both are gone", gone)
					if have := l.vms(); len(have) > 0 || len(l.volumes("iso/")) > 0 {
						t.Errorf("left are %v and %v", have, l.volumes("iso/"))
					}
				})
			})
		}
	}
}
