package karpenter_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A new image rolls through all nodes by itself, and at no moment fewer pods are ready than their budget allows.
func TestANewImageRollsThroughAllNodes(t *testing.T) {
	t.Parallel()
	s := begin(t, "rolled")
	image := func(version string) {
		s.apply(fmt.Sprintf(`apiVersion: karpenter.proxmox.sinextra.dev/v1alpha1
kind: ProxmoxTemplate
metadata: {name: %[1]s}
spec:
  region: %[1]s
  sourceImage: {url: "https://images.example.com/%[2]s/linux.qcow2"}
  storageIDs: [local, local-lvm]
  agent: {enabled: true}
  network: [{bridge: vmbr0}]
`, s.name, version))
	}
	image("v1")
	s.apply(s.class("ProxmoxTemplate"))
	const pods, least = 3, 2
	d := s.load(pods, "1", true)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.name}, Spec: policyv1.PodDisruptionBudgetSpec{
		Selector: d.Spec.Selector, MaxUnavailable: &intstr.IntOrString{IntVal: pods - least},
	}}
	if err := kube.Create(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	s.awaitReady(pods)
	s.awaitMachines(pods)
	old := map[string]bool{}
	for _, c := range s.claims() {
		old[c.Name] = true
	}
	image("v2")
	s.await(func() string {
		if ready := s.ready(); ready < least {
			t.Fatalf("only %d pods are ready", ready)
		}
		for _, c := range s.claims() {
			if old[c.Name] {
				return c.Name + " has the old image"
			}
		}
		return ""
	})
	s.awaitReady(pods)
	s.awaitMachines(pods)
}

// ready counts the pods that run on nodes that are there.
func (s *story) ready() (n int) {
	s.t.Helper()
	var pods corev1.PodList
	if err := kube.List(s.t.Context(), &pods, client.InNamespace("default"), client.MatchingLabels{"app": s.name}); err != nil {
		s.t.Fatal(err)
	}
	for _, p := range pods.Items {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

// Two NodePools get their machines from two Proxmox clusters, each from its own.
func TestTwoPoolsHaveTwoRegions(t *testing.T) {
	t.Parallel()
	north, south := begin(t, "north"), begin(t, "south")
	north.load(2, "1", true)
	south.load(1, "1", true)
	north.awaitReady(2)
	south.awaitReady(1)
	north.awaitMachines(2)
	south.awaitMachines(1)
	for _, s := range []*story{north, south} {
		for _, n := range s.nodes() {
			if n.Labels[corev1.LabelTopologyRegion] != s.name {
				t.Errorf("node %s of %s is in region %s", n.Name, s.name, n.Labels[corev1.LabelTopologyRegion])
			}
		}
	}
}
