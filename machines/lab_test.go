package machines

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/proxplane/proxplane/kube/drain"
	"github.com/proxplane/proxplane/kube/join"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/test/kit/killed"
)

// lab is a simulated Proxmox and a Kubernetes that only remembers, in virtual time.
type lab struct {
	*reconciler
	t    *testing.T
	sim  *pvesim.Sim
	said *events.FakeRecorder

	patched *atomic.Int64 // Machines, so many times
	alive   *atomic.Pointer[killed.Process]
}

// labWorld has two nodes that share a storage, and a template.
func labWorld() *pvesim.World {
	ms := func(n int) pvesim.Duration { return pvesim.Duration(time.Duration(n) * time.Millisecond) }
	w := &pvesim.World{
		Release: "9.2", Cluster: "lab",
		Storages: []pvesim.WorldStorage{
			{Name: "local", Type: "dir", Path: "/var/lib/vz", Size: 2 << 40, Content: []string{"images", "iso", "snippets"}},
			{Name: "ceph", Type: "rbd", Shared: true, Size: 8 << 40, Content: []string{"images"}, Options: map[string]string{"pool": "vms"}},
		},
		Users: []pvesim.WorldUser{{ID: "root@pam", Password: "secret", Tokens: []pvesim.WorldToken{{Name: "lab", Secret: "00000000-0000-0000-0000-000000000001"}}}},
		DHCP:  pvesim.WorldDHCP{Range: "10.7.0.1-10.7.200.250", Bits: 16},
		Timing: pvesim.Timing{
			Request: ms(5), Config: ms(200), Clone: ms(2000), Start: ms(1000), Boot: ms(1000), Agent: ms(3000), Stop: ms(200), Shutdown: ms(1000), Destroy: ms(500),
		},
		Load: pvesim.Load{AgentWait: ms(3000), StatusRound: ms(10000)},
	}
	for i := range 2 {
		w.Nodes = append(w.Nodes, pvesim.WorldNode{Name: fmt.Sprintf("pve%d", i+1), CPUs: 32, Memory: 64 << 30, Bridges: []pvesim.WorldBridge{{Name: "vmbr0"}}})
	}
	w.Guests = []pvesim.WorldGuest{{ID: 9000, Node: "pve1", Template: true, System: pvesim.WithAgent, Config: map[string]string{
		"name": "ubuntu", "ostype": "l26", "cores": "1", "memory": "1024", "agent": "enabled=1", "scsihw": "virtio-scsi-pci",
		"scsi0": "ceph:8", "net0": "virtio,bridge=vmbr0", "boot": "order=scsi0",
	}}}
	return w
}

// inLab runs a test in a lab with some objects beside the Secret of the login.
func inLab(t *testing.T, world *pvesim.World, objects []client.Object, test func(t *testing.T, l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim, err := pvesim.New(world)
		if err != nil {
			t.Fatal(err)
		}
		defer sim.Close()
		tr, stop := sim.Transport()
		defer stop()
		scheme := runtime.NewScheme()
		if err := clientgoscheme.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		if err := Scheme(scheme); err != nil {
			t.Fatal(err)
		}
		var patched atomic.Int64
		var alive atomic.Pointer[killed.Process]
		login := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "proxmox"}, Data: map[string][]byte{"token": []byte("00000000-0000-0000-0000-000000000001")}}
		c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(calls(&patched, &alive)).WithObjects(append(objects, login)...).WithStatusSubresource(&corev1.Node{}).
			WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).Build()
		o := Options{
			Set: "k8s-lab", Sites: new(site.Sites), Proxmox: tr, Logger: slog.New(slog.DiscardHandler), JoinTimeout: DefaultJoinTimeout, SkipEvictionAfter: DefaultSkipEvictionAfter,
			Kubernetes: &rest.Config{Host: "https://10.0.0.1:6443", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n")}},
		}
		l := &lab{t: t, sim: sim, said: events.NewFakeRecorder(10_000), patched: &patched, alive: &alive}
		l.begin(o, c)
		defer func() { l.close() }()
		test(t, l)
	})
}

// begin starts a process.
func (l *lab) begin(o Options, c client.Client) {
	r := &reconciler{
		Options: o, client: c, direct: c, brief: brief(c), log: o.Logger, now: time.Now, getenv: func(string) string { return "" }, events: l.said,
		drainer: &drain.Drainer{Client: c, Pods: c}, tokens: &join.Tokens{Client: c, Door: Door}, metrics: newMetrics(nil, c), secrets: newContents(c), boots: &boots{}, releases: newReleases(o.Releases),
	}
	r.server.version, r.server.at = "1.37.1", time.Now().Add(24*time.Hour)
	r.fleet = newFleet(o, c, c, o.Logger)
	l.reconciler = r
}

// close ends the process.
func (l *lab) close() {
	for _, b := range l.fleet.list() {
		b.site.Close()
	}
}

// calls counts how often Machines are patched, and has writes be those of the process that is alive.
func calls(patched *atomic.Int64, alive *atomic.Pointer[killed.Process]) interceptor.Funcs {
	call := func(do func() error) error {
		if p := alive.Load(); p != nil {
			return p.Call(do)
		}
		return do()
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return call(func() error { return asServed(ctx, c, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if _, ok := o.(*clusterv1alpha1.Machine); ok {
				patched.Add(1)
			}
			return call(func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return call(func() error { return c.Delete(ctx, o, opts...) })
		},
	}
}

// asServed creates an object as an API server does.
func asServed(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	if at := o.GetCreationTimestamp(); at.IsZero() {
		o.SetCreationTimestamp(metav1.Now())
	}
	if s, ok := o.(*corev1.Secret); ok {
		for k, v := range s.StringData {
			if s.Data == nil {
				s.Data = map[string][]byte{}
			}
			s.Data[k] = []byte(v)
		}
		s.StringData = nil
	}
	return c.Create(ctx, o, opts...)
}

// machineOf is a Machine whose cloudProviderSpec has some further fields.
func machineOf(name string, fields ...string) *clusterv1alpha1.Machine {
	return &clusterv1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.Now()},
		Spec: clusterv1alpha1.MachineSpec{
			Versions: clusterv1alpha1.MachineVersionInfo{Kubelet: "1.34.2"},
			ProviderSpec: clusterv1alpha1.ProviderSpec{Value: &runtime.RawExtension{Raw: []byte(`{"cloudProvider":"proxmox","operatingSystem":"ubuntu","cloudProviderSpec":{"endpoint":"https://pve1:8006","userID":"root@pam!lab",` +
				`"token":{"secretKeyRef":{"namespace":"kube-system","name":"proxmox","key":"token"}},"allowInsecure":true,"vmTemplateID":9000,"cpuSockets":1,"cpuCores":1,"memoryMB":1024,"diskSizeGB":20` + strings.Join(append([]string{""}, fields...), ",") + `}}`)}},
		},
	}
}

// add creates an object.
func (l *lab) add(o client.Object) {
	l.t.Helper()
	if err := l.direct.Create(l.t.Context(), o); err != nil {
		l.t.Fatal(err)
	}
}

// look reconciles a Machine, and returns it; nil: it is gone.
func (l *lab) look(name string) *clusterv1alpha1.Machine {
	l.t.Helper()
	key := types.NamespacedName{Namespace: "kube-system", Name: name}
	if _, err := l.Reconcile(l.t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		l.t.Fatal(err)
	}
	var m clusterv1alpha1.Machine
	if err := l.direct.Get(l.t.Context(), key, &m); err != nil {
		if client.IgnoreNotFound(err) != nil {
			l.t.Fatal(err)
		}
		return nil
	}
	return &m
}

// until reconciles a Machine until something holds.
func (l *lab) until(name, what string, holds func(*clusterv1alpha1.Machine) bool) *clusterv1alpha1.Machine {
	l.t.Helper()
	for range 200 {
		if m := l.look(name); holds(m) {
			return m
		}
		time.Sleep(5 * time.Second) // virtual
	}
	l.t.Fatalf("%s: never; it says %+v", what, l.look(name).Status)
	return nil
}

func inPhase(phase string) func(*clusterv1alpha1.Machine) bool {
	return func(m *clusterv1alpha1.Machine) bool {
		return m != nil && m.Status.Phase != nil && *m.Status.Phase == phase
	}
}

// joinsAsNode has a machine become a ready node.
func (l *lab) joinsAsNode(m *clusterv1alpha1.Machine) {
	l.t.Helper()
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, CreationTimestamp: metav1.Now()}, Spec: corev1.NodeSpec{ProviderID: *m.Spec.ProviderID},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}},
	}
	l.add(n)
	if err := l.direct.Status().Update(l.t.Context(), n); err != nil {
		l.t.Fatal(err)
	}
}

// guest is a copy of the config of a VM by its name; nil: there is none.
func (l *lab) guest(name string) (conf map[string]string) {
	l.sim.Do(func(s *pvesim.State) {
		for _, vm := range s.VMs {
			if vm.Name() == name && vm.Conf["template"] == "" {
				conf = map[string]string{"node": vm.Node}
				for k, v := range vm.Conf {
					conf[k] = v
				}
			}
		}
	})
	return conf
}

// volumes are those of storages whose names have a word in them.
func (l *lab) volumes(word string) (names []string) {
	l.sim.Do(func(s *pvesim.State) {
		for _, space := range s.Spaces {
			for name := range space.Volumes {
				if strings.Contains(name, word) {
					names = append(names, name)
				}
			}
		}
	})
	slices.Sort(names)
	return names
}

// warned reports whether there is a warning with some words.
func (l *lab) warned(words string) bool {
	found := false
	for len(l.said.Events) > 0 {
		if e := <-l.said.Events; strings.HasPrefix(e, corev1.EventTypeWarning) && strings.Contains(e, words) {
			found = true
		}
	}
	return found
}
