package karpenter_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/test/kit/sim"
)

// The objects of the page, and its user-data for kubeadm, end in a node that came by itself. They are as the page has them but for where Proxmox is, who logs in, and
// the region: without one, the template would be in those of all stories.
func TestThePageEndsInANode(t *testing.T) {
	t.Parallel()
	begun.Do(func() { shared = control(t) })
	s := open(t, "default")
	t.Cleanup(func() {
		_ = plane.Kubectl(context.Background(), "-n", "proxplane", "delete", "providers.infra.virtrigaud.io", "lab", "--wait=false").Run()
		_ = plane.Kubectl(context.Background(), "-n", "default", "delete", "deployment", "first", "--wait=false").Run()
	})
	text, err := os.ReadFile("../../docs/karpenter.md")
	if err != nil {
		t.Fatal(err)
	}
	var objects []string
	for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		if strings.Contains(block, "kind: NodePool") || strings.Contains(block, "name: kubeadm,") || strings.Contains(block, "kind: Deployment") {
			objects = append(objects, block)
		}
	}
	ca := strings.ReplaceAll(strings.TrimSpace(string(sim.CA())), "\n", "\n    ")
	for _, block := range objects {
		s.apply(strings.NewReplacer(
			"https://pve1.example.com:8006", s.pve.Endpoint, "karpenter@pve!nodes", sim.TokenID, "00000000-0000-0000-0000-000000000000", sim.TokenSecret+"\n  ca.crt: |\n    "+ca,
			"spec:\n  sourceImage", "spec:\n  region: lab\n  sourceImage", "spec:\n  instanceTemplateRef", "spec:\n  region: lab\n  instanceTemplateRef",
		).Replace(block))
	}
	s.await(func() string {
		var d appsv1.Deployment
		if err := kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "first"}, &d); err != nil || d.Status.ReadyReplicas != 1 {
			return fmt.Sprintf("%d pods are ready: %v", d.Status.ReadyReplicas, err)
		}
		return ""
	})
	s.awaitMachines(1)
	for _, n := range s.nodes() {
		if how := s.fleet.Settings(n.Name).How; how != "kubeadm" || !strings.HasPrefix(n.Spec.ProviderID, "proxmox://lab/") {
			t.Errorf("node %s joined by %s, as %s", n.Name, how, n.Spec.ProviderID)
		}
	}
	out, err := plane.Kubectl(t.Context(), "get", "proxmoxtemplates,proxmoxnodeclasses,nodeclaims").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "proxmoxtemplate.karpenter.proxmox.sinextra.dev/ubuntu") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
