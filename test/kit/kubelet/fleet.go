package kubelet

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/proxplane/proxplane/pvesim"
)

// Options say how machines behave.
type Options struct {
	// Renew is how often a node renews its lease; 0: often enough for a control plane of the kit.
	Renew time.Duration
	// Joins reports whether a machine gets to join, by its name in Proxmox; nil: all do.
	Joins func(vm string) bool
}

// Fleet are the machines of simulated Proxmox clusters that are nodes of one Kubernetes, or become
// some.
type Fleet struct {
	Options
	cancel context.CancelFunc
	done   sync.WaitGroup

	revisit func(node string) // has the pods of a node handed to it again

	mu     sync.Mutex
	byDisk map[string]*node  // by what identifies the disk of a machine; only watch writes
	byName map[string]*node  // those that run
	last   map[string]error  // what went wrong last, by name of the node
	certs  map[string][]byte // for serving, by name of the node
}

// usual is how often nodes renew their leases: several times within the grace that the control plane of the kit gives
// them.
const usual = 4 * time.Second

// Start watches simulated clusters, and lets their machines join the Kubernetes that their seeds name. Kubeconfig is
// that of an administrator: pods are watched once for all machines.
func Start(kubeconfig string, options Options, sims ...*pvesim.Sim) (*Fleet, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if options.Renew == 0 {
		options.Renew = usual
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &Fleet{Options: options, cancel: cancel, byDisk: map[string]*node{}, byName: map[string]*node{}, last: map[string]error{}, certs: map[string][]byte{}}
	if err := f.watchPods(ctx, admin); err != nil {
		cancel()
		return nil, err
	}
	f.done.Go(func() { f.watch(ctx, sims) })
	return f, nil
}

// Stop ends all machines' kubelets at once.
func (f *Fleet) Stop() {
	f.cancel()
	f.done.Wait()
}

// Names are the nodes that run, whether they have joined or not yet.
func (f *Fleet) Names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []string
	for name := range maps.Keys(f.byName) {
		list = append(list, name)
	}
	return list
}

// Serving is the serving certificate of a node; nil: it has none yet.
func (f *Fleet) Serving(name string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.certs[name]
}

// Settings are what the machine of a node has learnt from its seed; nil: there is no such machine.
func (f *Fleet) Settings(name string) *Settings {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.byDisk {
		if n.Name == name {
			return n.Settings
		}
	}
	return nil
}

// Problems are what goes wrong in machines, by the name of the node.
func (f *Fleet) Problems() map[string]error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.last)
}

func (f *Fleet) note(name string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		delete(f.last, name)
		return
	}
	f.last[name] = err
}

func (f *Fleet) served(n *node, cert []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n.serving, f.certs[n.Name] = cert, cert
	delete(f.last, n.Name)
}

// watchPods hands pods to the nodes that they are bound to.
func (f *Fleet) watchPods(ctx context.Context, admin kubernetes.Interface) error {
	factory := informers.NewSharedInformerFactory(admin, 0)
	pods := factory.Core().V1().Pods().Informer()
	hand := func(o any) {
		pod, ok := o.(*corev1.Pod)
		if !ok || pod.Spec.NodeName == "" || pod.Status.Phase != corev1.PodPending && pod.DeletionTimestamp == nil {
			return
		}
		f.mu.Lock()
		n := f.byName[pod.Spec.NodeName]
		f.mu.Unlock()
		if n != nil {
			n.pods.put(pod)
		}
	}
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: hand, UpdateFunc: func(_, o any) { hand(o) }}); err != nil {
		return err
	}
	f.revisit = func(name string) {
		for _, o := range pods.GetStore().List() {
			if pod, ok := o.(*corev1.Pod); ok && pod.Spec.NodeName == name {
				hand(o)
			}
		}
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced) {
		return errors.New("pods can't be watched")
	}
	return nil
}
