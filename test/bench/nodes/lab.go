package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/bench/world"
	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/installed"
	"github.com/proxplane/proxplane/test/kit/kubelet"
	"github.com/proxplane/proxplane/test/kit/outside"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// lab is a Kubernetes with a Proxmox whose machines join it.
type lab struct {
	plane    *controlplane.Plane
	pve      *sim.Server
	operator *outside.Process
	kube     kubernetes.Interface
	ending   []func() error
}

// open starts all of it.
func open(ctx context.Context, d door, dir string) (l *lab, err error) {
	l = &lab{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	program, err := outside.Build(ctx, ".", "./cmd/proxplane", dir)
	if err != nil {
		return l, err
	}
	if l.plane, err = controlplane.Start(ctx, dir); err != nil {
		return l, err
	}
	l.ending = append(l.ending, func() error { l.plane.Stop(); return nil })
	if err := errors.Join(l.plane.StartControllers(ctx), l.plane.StartScheduler()); err != nil {
		return l, err
	}
	for _, folder := range d.kinds {
		if err := l.plane.Define(ctx, folder); err != nil {
			return l, err
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", l.plane.Kubeconfig)
	if err != nil {
		return l, err
	}
	config.QPS = -1
	if l.kube, err = kubernetes.NewForConfig(config); err != nil {
		return l, err
	}
	if err := l.serve(); err != nil {
		return l, err
	}
	chart, err := installed.Install(ctx, l.plane, dir, d.values...)
	if err != nil {
		return l, err
	}
	l.operator, err = outside.Start(ctx, outside.Command{Program: program, Args: append(chart.Args, "--alone", "--log-level", "warn"), Env: []string{"KUBECONFIG=" + chart.Kubeconfig}})
	if err == nil {
		l.ending = append(l.ending, func() error { return l.operator.Signal(syscall.SIGKILL) })
	}
	return l, err
}

// serve starts the Proxmox, and has its machines join.
func (l *lab) serve() error {
	w, err := pvesim.ParseWorld(world.YAML)
	if err != nil {
		return err
	}
	if l.pve, err = sim.Start(w); err != nil {
		return err
	}
	l.ending = append(l.ending, l.pve.Stop)
	fleet, err := kubelet.Start(l.plane.Kubeconfig, kubelet.Options{}, l.pve.Sim)
	if err != nil {
		return err
	}
	l.ending = append(l.ending, func() error { fleet.Stop(); return nil })
	return nil
}

// close ends what was started, the last first.
func (l *lab) close() error {
	var errs []error
	for i := range l.ending {
		errs = append(errs, l.ending[len(l.ending)-1-i]())
	}
	return errors.Join(errs...)
}

// apply applies manifests.
func (l *lab) apply(ctx context.Context, text string) error {
	cmd := l.plane.Kubectl(ctx, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply: %w\n%s", err, out)
	}
	return nil
}

// patience is how long something may take.
const patience = 10 * time.Minute

// until waits until something holds.
func (l *lab) until(ctx context.Context, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w\n%s", what, context.Cause(ctx), last(l.operator.Said()))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// last are the last lines of a text.
func last(text string) string {
	lines := bytes.Split([]byte(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-10):], []byte("\n")))
}

// figure is what some nodes have cost.
type figure struct {
	nodes    int
	wall     time.Duration
	requests int
	peak     int64
	cpu      time.Duration
}

// take measures how long it takes until so many nodes are there.
func (l *lab) take(ctx context.Context, d door, n int) (f figure, err error) {
	before, err := l.operator.Usage()
	if err != nil {
		return f, err
	}
	from, begun := l.pve.RequestCount(), time.Now()
	if err := d.want(ctx, l, n); err != nil {
		return f, err
	}
	if err := l.until(ctx, fmt.Sprintf("%d nodes", n), func() (bool, error) { return d.there(ctx, l, n) }); err != nil {
		return f, err
	}
	f = figure{nodes: n, wall: time.Since(begun), requests: l.pve.RequestCount() - from}
	now, err := l.operator.Usage()
	f.peak, f.cpu = now.Peak, now.CPU-before.CPU
	return f, err
}

// measure makes one node, takes it away, and makes many.
func (r *report) measure(ctx context.Context, d door) error {
	dir, err := os.MkdirTemp("", "proxplane-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	said("starting ...")
	l, err := open(ctx, d, dir)
	if err != nil {
		return err
	}
	defer func() { _ = l.close() }() // it was measured all the same
	if err := d.prepare(ctx, l); err != nil {
		return err
	}
	said("one node ...")
	if r.one, err = l.take(ctx, d, 1); err != nil {
		return err
	}
	if err := d.want(ctx, l, 0); err != nil {
		return err
	}
	if err := l.until(ctx, "it is gone", func() (bool, error) { return l.machines() == 0, nil }); err != nil {
		return err
	}
	said("%d nodes ...", r.n)
	r.many, err = l.take(ctx, d, r.n)
	return err
}

// machines counts the VMs that are no templates.
func (l *lab) machines() (n int) {
	l.pve.Do(func(s *pvesim.State) {
		for _, vm := range s.VMs {
			if vm.Conf["template"] == "" {
				n++
			}
		}
	})
	return n
}
