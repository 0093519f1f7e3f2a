package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/test/bench/world"
)

// The manifests that machines need.
const (
	provider = `
metadata: {name: bench}
spec: {endpoint: %s, fingerprint: %q, credentialSecretRef: {name: credentials}}
`
	class = `
metadata: {name: small}
spec: {cpus: 2, memory: 1Gi}
`
	image = `
metadata: {name: linux}
spec: {source: %s}
`
	machine = `
metadata: {name: m-%05d, labels: {app: bench}}
spec:
  classRef: {name: small}
  imageRef: {name: linux}
  powerState: On
  networks: [{name: lan}]
  disks: [{name: root, size: 10Gi}]
  tags: [bench]
  agent: {waitForAddress: true}
`
)

// write puts an object into the part's namespace.
func (p *part) write(ctx context.Context, obj client.Object, format string, args ...any) error {
	if err := yaml.UnmarshalStrict(fmt.Appendf(nil, format, args...), obj); err != nil {
		return err
	}
	obj.SetNamespace(p.name)
	return p.kube.Create(ctx, obj)
}

// provide writes what machines need, and waits until Proxmox answers.
func (p *part) provide(ctx context.Context) error {
	login := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.name, Name: "credentials"},
		StringData: map[string]string{"token_id": world.TokenID, "token_secret": world.TokenSecret},
	}
	var prov api.Provider
	err := errors.Join(
		p.kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.name}}),
		p.kube.Create(ctx, login),
		p.write(ctx, &prov, provider, p.sim.URL, p.sim.Fingerprint),
		p.write(ctx, &api.VMClass{}, class),
		p.write(ctx, &api.VMImage{}, image, world.Template),
	)
	if err != nil {
		return err
	}
	return p.until(ctx, "the Provider is ready", func() (bool, error) {
		err := p.kube.Get(ctx, client.ObjectKeyFromObject(&prov), &prov)
		return ready(prov.Status.Conditions), err
	})
}

func ready(list []metav1.Condition) bool { return meta.IsStatusConditionTrue(list, "Ready") }

// writers is how many objects are written, or deleted, at once.
const writers = 8

// create wants machines with the numbers from the first to before the last.
func (p *part) create(ctx context.Context, first, last int) error {
	return each(first, last, func(n int) error { return p.write(ctx, &api.VirtualMachine{}, machine, n) })
}

// each does something with numbers, some at once.
func each(first, last int, do func(n int) error) error {
	numbers := make(chan int)
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for range writers {
		all.Go(func() {
			for n := range numbers {
				if err := do(n); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	for n := first; n < last; n++ {
		numbers <- n
	}
	close(numbers)
	all.Wait()
	return failed
}

// named is the machine with a number.
func (p *part) named(n int) *api.VirtualMachine {
	vm := &api.VirtualMachine{}
	vm.Namespace, vm.Name = p.name, fmt.Sprintf("m-%05d", n)
	return vm
}

// awaitReady waits until so many machines have become ready since the operator was
// started, and makes sure that all are, by what Kubernetes says.
func (p *part) awaitReady(ctx context.Context, became, all int) error {
	err := p.until(ctx, fmt.Sprintf("%d machines become ready", became), func() (bool, error) {
		r, err := p.read(ctx)
		return r.readied >= float64(became), err
	})
	if err != nil {
		return err
	}
	return p.until(ctx, fmt.Sprintf("%d machines are ready", all), func() (bool, error) {
		n, err := p.ready(ctx)
		return n == all, err
	})
}

// ready counts the machines that are, as Kubernetes says.
func (p *part) ready(ctx context.Context) (n int, err error) {
	var list api.VirtualMachineList
	for next := ""; ; next = list.Continue {
		if err := p.kube.List(ctx, &list, client.InNamespace(p.name), client.Limit(1000), client.Continue(next)); err != nil {
			return n, err
		}
		for _, vm := range list.Items {
			if ready(vm.Status.Conditions) && len(vm.Status.Addresses) > 0 {
				n++
			}
		}
		if list.Continue == "" {
			return n, nil
		}
	}
}

// deleteAll deletes machines, and waits until there are none.
func (p *part) deleteAll(ctx context.Context, n int) error {
	if err := each(0, n, func(n int) error { return p.kube.Delete(ctx, p.named(n)) }); err != nil {
		return err
	}
	return p.until(ctx, "all machines are gone", func() (bool, error) {
		var list api.VirtualMachineList
		err := p.kube.List(ctx, &list, client.InNamespace(p.name), client.Limit(1))
		return err == nil && len(list.Items) == 0, err
	})
}

// deleteOne deletes a machine, and tells how long it takes until it is gone.
func (p *part) deleteOne(ctx context.Context, n int) (time.Duration, error) {
	vm := p.named(n)
	begun := time.Now()
	if err := p.kube.Delete(ctx, vm); err != nil {
		return 0, err
	}
	err := p.until(ctx, vm.Name+" is gone", func() (bool, error) {
		err := p.kube.Get(ctx, client.ObjectKeyFromObject(vm), vm)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	return time.Since(begun), err
}

// patience is how long anything may take.
const patience = time.Hour

// until waits until something holds.
func (p *part) until(ctx context.Context, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		switch ok, err := holds(); {
		case err != nil:
			return fmt.Errorf("wait until %s: %w", what, err)
		case ok:
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-p.operator.Ended():
			return fmt.Errorf("wait until %s: the operator has ended: %v", what, p.operator.Wait())
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, context.Cause(ctx))
		}
	}
}
