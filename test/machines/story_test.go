package machines_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/await"
	"github.com/proxplane/proxplane/test/kit/child"
	"github.com/proxplane/proxplane/test/kit/itself"
	"github.com/proxplane/proxplane/test/kit/sim"
)

type machine = clusterv1alpha1.Machine

// story is a namespace with a Proxmox of its own.
type story struct {
	t         *testing.T
	namespace string
	pve       *sim.Server
	operators []*child.Process
}

var stories atomic.Int64

// patience is how long something may take that should happen.
const patience = 4 * time.Minute

// begin begins a story with an operator for its namespace.
func begin(t *testing.T, flags ...string) *story {
	t.Helper()
	s := before(t)
	s.operate(flags...)
	return s
}

// before begins a story in which no operator runs yet.
func before(t *testing.T) *story {
	t.Helper()
	s := &story{t: t, namespace: fmt.Sprintf("pool-%d", stories.Add(1))}
	s.pve = s.serve()
	s.apply("{apiVersion: v1, kind: Namespace, metadata: {name: " + s.namespace + "}}")
	s.secret("proxmox", sim.TokenSecret)
	t.Cleanup(s.end)
	return s
}

// serve starts a Proxmox.
func (s *story) serve() *sim.Server {
	s.t.Helper()
	w := pvesim.DefaultWorld()
	sim.Quick(w)
	server, err := sim.Start(w)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			s.t.Logf("simulator: %v", err)
		}
	})
	return server
}

// secret writes the Secret with the token of a Proxmox.
func (s *story) secret(name, token string) {
	s.t.Helper()
	s.apply(fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s}, stringData: {token: %q, ca: %q}}", name, token, sim.CA()))
}

// end shows what happened when the story went wrong.
func (s *story) end() {
	if s.t.Failed() {
		s.show()
	}
	for _, p := range s.operators {
		p.Stop()
		if s.t.Failed() {
			s.t.Logf("%s:\n%s", p.Name, p.Log())
		}
	}
}

// show shows what there is.
func (s *story) show() {
	ctx := context.Background()
	var machines clusterv1alpha1.MachineList
	var nodes corev1.NodeList
	var events corev1.EventList
	if err := errors.Join(kube.List(ctx, &machines, client.InNamespace(s.namespace)), kube.List(ctx, &nodes), kube.List(ctx, &events, client.InNamespace(s.namespace))); err != nil {
		s.t.Log(err)
	}
	for _, m := range machines.Items {
		b, _ := json.Marshal(m.Status)
		s.t.Logf("machine %s %v deleted %v: %s", m.Name, m.Finalizers, m.DeletionTimestamp, b)
	}
	for _, n := range nodes.Items {
		s.t.Logf("node %s %s %v", n.Name, n.Spec.ProviderID, n.Labels)
	}
	for _, e := range events.Items {
		s.t.Logf("event %s %s %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
	}
	s.t.Logf("guests %v", s.guests())
}

// apply applies manifests.
func (s *story) apply(manifests string) {
	s.t.Helper()
	for text := range strings.SplitSeq(manifests, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			s.t.Fatalf("%v\n%s", err, text)
		}
		if o.GetNamespace() == "" && o.GetKind() != "Namespace" {
			o.SetNamespace(s.namespace)
		}
		if err := kube.Apply(s.t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("somebody"), client.ForceOwnership); err != nil {
			s.t.Fatalf("apply: %v\n%s", err, text)
		}
	}
}

// change changes an object.
func (s *story) change(o client.Object, name, patch string) {
	s.t.Helper()
	o.SetNamespace(s.namespace)
	o.SetName(name)
	if err := kube.Patch(s.t.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		s.t.Fatalf("patch %s: %v", name, err)
	}
}

// scale changes how many machines a MachineDeployment has.
func (s *story) scale(name string, replicas int) {
	s.t.Helper()
	s.change(&clusterv1alpha1.MachineDeployment{}, name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

// list are the Machines.
func (s *story) list() []clusterv1alpha1.Machine {
	s.t.Helper()
	var list clusterv1alpha1.MachineList
	if err := kube.List(s.t.Context(), &list, client.InNamespace(s.namespace)); err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

// phases counts the Machines by phase.
func (s *story) phases() map[string]int {
	s.t.Helper()
	all := map[string]int{}
	for _, m := range s.list() {
		phase := "?"
		if m.Status.Phase != nil {
			phase = *m.Status.Phase
		}
		all[phase]++
	}
	return all
}

// until waits until something holds.
func (s *story) until(what string, holds func() bool) {
	s.t.Helper()
	await.Until(s.t, patience, what, holds)
}

// machines are the names of the Machines.
func (s *story) machines() []string {
	s.t.Helper()
	var names []string
	for _, m := range s.list() {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// guests are the names of all VMs that are no template.
func (s *story) guests() []string { return guests(s.pve) }

func guests(server *sim.Server) []string {
	var names []string
	server.Do(func(st *pvesim.State) { names = guestsOf(st) })
	return names
}

func guestsOf(st *pvesim.State) []string {
	var names []string
	for _, vm := range st.VMs {
		if vm.Conf["template"] == "" {
			names = append(names, vm.Name())
		}
	}
	slices.Sort(names)
	return names
}

// pool is a MachineDeployment.
type pool struct {
	name     string
	replicas int
	template int
	kubelet  string
	secret   string
	disk     int      // GiB
	spec     []string // further fields of cloudProviderSpec
	more     string   // further fields of the MachineDeployment's spec
	machine  string   // further fields of the Machines' spec
	endpoint string
}

func (s *story) pool(p pool) string {
	if p.template == 0 {
		p.template = 9000
	}
	if p.disk == 0 {
		p.disk = 20
	}
	if p.kubelet == "" {
		p.kubelet = "1.30.1"
	}
	if p.secret == "" {
		p.secret = "proxmox"
	}
	if p.endpoint == "" {
		p.endpoint = s.pve.Endpoint
	}
	return fmt.Sprintf(`apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDeployment
metadata: {name: %[1]s}
spec:
  replicas: %[2]d
  selector: {matchLabels: {pool: %[1]s}}
  %[8]s
  template:
    metadata: {labels: {pool: %[1]s}}
    spec:
      %[9]s
      versions: {kubelet: %[4]s}
      providerSpec:
        value:
          cloudProvider: proxmox
          cloudProviderSpec:
            endpoint: %[5]s
            userID: %[6]s
            token: {secretKeyRef: {namespace: %[10]s, name: %[7]s, key: token}}
            ca: {secretKeyRef: {namespace: %[10]s, name: %[7]s, key: ca}}
            vmTemplateID: %[3]d
            cpuSockets: 1
            cpuCores: 1
            memoryMB: 1024
            diskSizeGB: %[12]d
            %[11]s
          operatingSystem: ubuntu
`, p.name, p.replicas, p.template, p.kubelet, p.endpoint, sim.TokenID, p.secret, p.more, p.machine, s.namespace, strings.Join(p.spec, "\n            "), p.disk)
}

// operate starts an operator for the story's namespace.
func (s *story) operate(flags ...string) *child.Process {
	s.t.Helper()
	cmd, err := itself.Command(context.Background(), append(append(slices.Clone(chart.Args), "--namespace", s.namespace, "--alone"), flags...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "KUBECONFIG="+chart.Kubeconfig, "LOG_LEVEL=info")
	p, err := child.Watch(fmt.Sprintf("operator %d", len(s.operators)+1), cmd)
	if err != nil {
		s.t.Fatal(err)
	}
	s.operators = append(s.operators, p)
	return p
}

// volumes are all that storages have but what is of templates.
func (s *story) volumes() []string {
	var names []string
	s.pve.Do(func(st *pvesim.State) {
		for _, space := range st.Spaces {
			for volume := range space.Volumes {
				if !strings.Contains(volume, "900") { // of templates
					names = append(names, volume)
				}
			}
		}
	})
	return names
}
