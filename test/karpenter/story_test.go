package karpenter_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/child"
	"github.com/proxplane/proxplane/test/kit/itself"
	"github.com/proxplane/proxplane/test/kit/kubelet"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// process are the controllers as a process of their own.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// lastWords are the end of what the process said.
func (p *process) lastWords() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(p.out.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-25):], "\n")
}

// kill ends the process in the middle of whatever it does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// control starts proxplane, as the chart does but for some flags.
func control(t *testing.T, flags ...string) *process {
	t.Helper()
	cmd, err := itself.Command(context.Background(), append(slices.Clone(chart.Args), flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	p.cmd.Env = append(p.cmd.Env, "KUBECONFIG="+chart.Kubeconfig)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if err := child.Start(p.cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // what it said is shown
		close(p.done)
	}()
	return p
}

var begun sync.Once

// story is a region with a NodePool.
type story struct {
	t     *testing.T
	name  string
	pve   *sim.Server
	fleet *kubelet.Fleet
}

// world has three nodes, each with a template of the same name.
func world() *pvesim.World {
	w := pvesim.DefaultWorld()
	sim.Quick(w)
	w.Nodes, w.Guests = nil, nil
	w.Storages = []pvesim.WorldStorage{
		{Name: "local", Type: "dir", Path: "/var/lib/vz", Size: 2 << 40, Content: []string{"images", "iso", "import", "snippets"}},
		{Name: "local-lvm", Type: "lvmthin", Size: 8 << 40, Content: []string{"images"}, Options: map[string]string{"vgname": "pve", "thinpool": "data"}},
	}
	w.DHCP = pvesim.WorldDHCP{Range: "10.7.0.1-10.7.200.250", Bits: 16}
	for i := range 3 {
		name := fmt.Sprintf("pve%d", i+1)
		w.Nodes = append(w.Nodes, pvesim.WorldNode{Name: name, CPUs: 32, Memory: 128 << 30, Bridges: []pvesim.WorldBridge{{Name: "vmbr0"}}})
		w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 9000 + i, Node: name, Template: true, System: pvesim.WithAgent, Config: map[string]string{
			"name": "linux", "ostype": "l26", "cores": "2", "memory": "2048", "agent": "enabled=1", "scsihw": "virtio-scsi-pci",
			"scsi0": "local-lvm:8", "net0": "virtio,bridge=vmbr0", "boot": "order=scsi0",
		}})
	}
	return w
}

// begin begins a story with the controllers that all share.
func begin(t *testing.T, name string, change ...func(*pvesim.World)) *story {
	t.Helper()
	begun.Do(func() { shared = control(t) })
	return beginAlone(t, name, change...)
}

// beginAlone begins a story without controllers.
func beginAlone(t *testing.T, name string, change ...func(*pvesim.World)) *story {
	t.Helper()
	s := open(t, name, change...)
	s.apply(s.pve.Provider(name, name))
	s.apply(s.bootData())
	s.apply(fmt.Sprintf(`apiVersion: karpenter.proxmox.sinextra.dev/v1alpha1
kind: ProxmoxUnmanagedTemplate
metadata: {name: %[1]s}
spec: {region: %[1]s, templateName: linux}
`, name))
	s.apply(s.class("ProxmoxUnmanagedTemplate"))
	s.apply(s.pool("0s"))
	return s
}

// open begins a story with a Proxmox whose machines join, and nothing in Kubernetes.
func open(t *testing.T, name string, change ...func(*pvesim.World)) *story {
	t.Helper()
	w := world()
	for _, c := range change {
		c(w)
	}
	s := &story{t: t, name: name}
	var err error
	if s.pve, err = sim.Start(w); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.pve.Stop() })
	if s.fleet, err = kubelet.Start(plane.Kubeconfig, kubelet.Options{}, s.pve.Sim); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.fleet.Stop)
	t.Cleanup(s.end)
	return s
}

// end takes away what there is of the story, so that others aren't held up by it.
func (s *story) end() {
	if s.t.Failed() && shared != nil {
		s.t.Logf("controllers:\n%s\nmachines: %v", shared.lastWords(), s.fleet.Problems())
	}
	_ = plane.Kubectl(context.Background(), "delete", "deployment,nodepool,providers.infra.virtrigaud.io", s.name, "--ignore-not-found", "--wait=false").Run()
}

// bootData is the example for kubeadm, for this story.
func (s *story) bootData() string {
	s.t.Helper()
	text, err := os.ReadFile("../../examples/karpenter/kubeadm/nodes.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	docs := strings.Split(string(text), "\n---\n")
	return strings.ReplaceAll(docs[0]+"\n---\n"+docs[1], "karpenter-kubeadm", "karpenter-"+s.name)
}

func (s *story) class(kind string) string {
	return fmt.Sprintf(`apiVersion: karpenter.proxmox.sinextra.dev/v1alpha1
kind: ProxmoxNodeClass
metadata: {name: %[1]s}
spec:
  region: %[1]s
  instanceTemplateRef: {kind: %[2]s, name: %[1]s}
  bootDevice: {size: 30G, storage: local-lvm}
  metadataOptions:
    type: cdrom
    templatesRef: {namespace: kube-system, name: karpenter-%[1]s}
    valuesRef: {namespace: kube-system, name: karpenter-%[1]s-values}
`, s.name, kind)
}

func (s *story) pool(after string) string {
	return fmt.Sprintf(`apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %[1]s}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.proxmox.sinextra.dev, kind: ProxmoxNodeClass, name: %[1]s}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      expireAfter: Never
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: %[2]s
    budgets: [{nodes: "100%%"}]
`, s.name, after)
}

func (s *story) apply(text string) {
	s.t.Helper()
	cmd := plane.Kubectl(context.Background(), "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("kubectl apply: %v\n%s\n%s", err, out, text)
	}
}

// load wants pods on the nodes of the story. Apart: each on a node of its own.
func (s *story) load(replicas int32, cpu string, apart bool) *appsv1.Deployment {
	s.t.Helper()
	labels := map[string]string{"app": s.name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.name}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](0), NodeSelector: map[string]string{v1.NodePoolLabelKey: s.name},
			Containers: []corev1.Container{{Name: "web", Image: "web", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("256Mi"),
			}}}},
		}},
	}}
	if apart {
		d.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: d.Spec.Selector, TopologyKey: corev1.LabelHostname},
		}}}
	}
	if err := kube.Create(s.t.Context(), d); err != nil {
		s.t.Fatal(err)
	}
	return d
}

// scale changes how many pods are wanted.
func (s *story) scale(replicas int) {
	s.t.Helper()
	if out, err := plane.Kubectl(s.t.Context(), "scale", "deployment", s.name, fmt.Sprintf("--replicas=%d", replicas)).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// nodes are the Nodes of the story.
func (s *story) nodes() []corev1.Node {
	s.t.Helper()
	var list corev1.NodeList
	if err := kube.List(s.t.Context(), &list, client.MatchingLabels{v1.NodePoolLabelKey: s.name}); err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

// claims are its NodeClaims.
func (s *story) claims() []v1.NodeClaim {
	s.t.Helper()
	var list v1.NodeClaimList
	if err := kube.List(s.t.Context(), &list, client.MatchingLabels{v1.NodePoolLabelKey: s.name}); err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

// machines are the VMs of the story, by VMID, with the Proxmox node that each is on.
func (s *story) machines() map[int]string {
	all := map[int]string{}
	s.pve.Do(func(st *pvesim.State) {
		for id, vm := range st.VMs {
			if vm.Conf["template"] != "1" {
				all[id] = vm.Node
			}
		}
	})
	return all
}

// seeds are the ISO images that are left on storages.
func (s *story) seeds() (list []string) {
	s.pve.Do(func(st *pvesim.State) {
		for _, space := range st.Spaces {
			for name := range space.Volumes {
				if strings.HasPrefix(name, "iso/") {
					list = append(list, name)
				}
			}
		}
	})
	slices.Sort(list)
	return list
}

// await waits until something is so; what says what isn't.
func (s *story) await(what func() string) {
	s.t.Helper()
	const patience = 4 * time.Minute // without progress: on a busy machine everything takes longer
	last := ""
	for end := time.Now().Add(patience); ; {
		left := what()
		if left == "" {
			return
		}
		if left != last {
			last, end = left, time.Now().Add(patience)
		}
		if time.Now().After(end) {
			out, _ := plane.Kubectl(context.Background(), "get", "nodeclaims,nodes,proxmoxnodeclasses,pods", "-A", "-o", "wide").CombinedOutput()
			events, _ := plane.Kubectl(context.Background(), "get", "events", "-A", "--sort-by=.lastTimestamp").CombinedOutput()
			lines := strings.Split(string(events), "\n")
			s.t.Fatalf("%s\n%s\n%s\nin machines: %v", left, out, strings.Join(lines[max(0, len(lines)-30):], "\n"), s.fleet.Problems())
		}
		select {
		case <-s.t.Context().Done():
			s.t.Fatal(left)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// awaitReady waits until so many pods run.
func (s *story) awaitReady(pods int32) {
	s.t.Helper()
	s.await(func() string {
		var d appsv1.Deployment
		if err := kube.Get(s.t.Context(), client.ObjectKey{Namespace: "default", Name: s.name}, &d); err != nil {
			return err.Error()
		}
		if d.Status.ReadyReplicas != pods || d.Status.Replicas != pods {
			return fmt.Sprintf("%d of %d pods are ready", d.Status.ReadyReplicas, pods)
		}
		return ""
	})
}

// awaitMachines waits until there are so many Nodes, NodeClaims and VMs.
func (s *story) awaitMachines(n int) {
	s.t.Helper()
	s.await(func() string {
		if nodes, claims, vms := len(s.nodes()), len(s.claims()), len(s.machines()); nodes != n || claims != n || vms != n {
			return fmt.Sprintf("there are %d Nodes, %d NodeClaims and %d VMs, and not %d", nodes, claims, vms, n)
		}
		return ""
	})
}
