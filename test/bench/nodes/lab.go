package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/proxplane/proxplane/pvesim"
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
	nodes    cache.Store // of all Nodes and Pods: to list them again and again would take the time that is measured
	pods     cache.Store
	ending   []func() error
}

// open starts all of it.
func open(ctx context.Context, d door, dir string, yaml []byte) (l *lab, err error) {
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
	if err := l.watch(ctx); err != nil {
		return l, err
	}
	if err := l.serve(yaml); err != nil {
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

// watch begins to follow Nodes and Pods.
func (l *lab) watch(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(l.kube, 0)
	nodes, pods := factory.Core().V1().Nodes().Informer(), factory.Core().V1().Pods().Informer()
	l.nodes, l.pods = nodes.GetStore(), pods.GetStore()
	ctx, cancel := context.WithCancel(ctx)
	l.ending = append(l.ending, func() error { cancel(); return nil })
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), nodes.HasSynced, pods.HasSynced) {
		return errors.New("nodes and pods can't be watched")
	}
	return nil
}

// serve starts the Proxmox, and has its machines join.
func (l *lab) serve(yaml []byte) error {
	w, err := pvesim.ParseWorld(yaml)
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
	after    int            // until the first-boot data of all are gone
	kinds    map[string]int // requests by what they ask
	served   map[string]int // those to Kubernetes, of all programs
	peak     int64
	cpu      map[string]time.Duration // by program
}

// Names of programs that aren't Kubernetes' own.
const (
	operatorName = "proxplane operator"
	benchName    = "simulator and kubelets"
)

// cpu is what all programs have used so far.
func (l *lab) cpu() (map[string]time.Duration, error) {
	pids := l.plane.Pids()
	pids[operatorName], pids[benchName] = l.operator.Pid(), os.Getpid()
	used := map[string]time.Duration{}
	for name, pid := range pids {
		u, err := outside.UsageOf(pid)
		if err != nil {
			return nil, err
		}
		used[name] = u.CPU
	}
	return used, nil
}

var servedLine = regexp.MustCompile(`^apiserver_request_total\{.*resource="([^"]*)".*subresource="([^"]*)",verb="([^"]*)".*\} (\d+)`)

// served are the requests that Kubernetes has answered so far, by verb and kind.
func (l *lab) served(ctx context.Context) (map[string]int, error) {
	text, err := l.kube.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if m := servedLine.FindStringSubmatch(line); m != nil {
			n, err := strconv.Atoi(m[4])
			if err != nil {
				return nil, err
			}
			count[strings.TrimSuffix(m[3]+" "+m[1]+"/"+m[2], "/")] += n
		}
	}
	return count, nil
}

// take measures how long it takes until so many nodes are there.
func (l *lab) take(ctx context.Context, d door, n int) (f figure, err error) {
	before, err := l.cpu()
	if err != nil {
		return f, err
	}
	answered, err := l.served(ctx)
	if err != nil {
		return f, err
	}
	from, begun := l.pve.RequestCount(), time.Now()
	if err := d.want(ctx, l, n); err != nil {
		return f, err
	}
	if err := l.until(ctx, fmt.Sprintf("%d nodes", n), func() (bool, error) { return d.there(l, n), nil }); err != nil {
		return f, err
	}
	f = figure{nodes: n, wall: time.Since(begun), requests: l.pve.RequestCount() - from, kinds: sim.KindsOf(l.pve.Requests(from))}
	if f.cpu, err = l.cpu(); err != nil {
		return f, err
	}
	for name := range f.cpu {
		f.cpu[name] -= before[name]
	}
	if f.served, err = l.served(ctx); err != nil {
		return f, err
	}
	for kind := range f.served {
		f.served[kind] -= answered[kind]
	}
	now, err := l.operator.Usage()
	f.peak = now.Peak
	return f, err
}

// measure makes one node, takes it away, and makes many, in a world.
func (s *pass) measure(ctx context.Context, d door, n int) error {
	dir, err := os.MkdirTemp("", "proxplane-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	said("starting ...")
	l, err := open(ctx, d, dir, s.yaml)
	if err != nil {
		return err
	}
	defer func() { _ = l.close() }() // it was measured all the same
	if err := d.prepare(ctx, l); err != nil {
		return err
	}
	said("one node ...")
	if s.one, err = l.take(ctx, d, 1); err != nil {
		return err
	}
	if err := d.want(ctx, l, 0); err != nil {
		return err
	}
	if err := l.until(ctx, "it is gone", func() (bool, error) { return l.machines() == 0, nil }); err != nil {
		return err
	}
	said("%d nodes ...", n)
	from := l.pve.RequestCount()
	if s.many, err = l.take(ctx, d, n); err != nil {
		return err
	}
	said("%d nodes lose their first-boot data ...", n)
	if err := l.until(ctx, "the first-boot data are gone", func() (bool, error) { return l.seeds() == 0, nil }); err != nil {
		return err
	}
	s.many.after = l.pve.RequestCount() - from - s.many.requests
	return nil
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

// seeds counts the images with first-boot data.
func (l *lab) seeds() (n int) {
	l.pve.Do(func(s *pvesim.State) {
		for _, space := range s.Spaces {
			for name := range space.Volumes {
				if strings.Contains(name, "iso/") {
					n++
				}
			}
		}
	})
	return n
}
