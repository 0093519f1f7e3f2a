package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/proxplane/proxplane/test/bench/world"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// door is one of the two.
type door struct {
	kinds   []string // folders of CRDs
	values  []string // of the chart
	prepare func(ctx context.Context, l *lab) error
	// want wants so many nodes, and there tells whether they are.
	want  func(ctx context.Context, l *lab, n int) error
	there func(l *lab, n int) bool
}

var doors = map[string]door{
	"karpenter": {
		kinds: []string{"deploy/crds", "deploy/crds/karpenter"}, values: []string{"karpenter.enabled=true", "karpenter.only=true"},
		prepare: karpenterPool, want: pods, there: podsRun,
	},
	"machines": {
		kinds: []string{"deploy/crds/machines"}, values: []string{"machines.enabled=true", "machines.only=true"},
		prepare: machinePool, want: replicas, there: nodesReady,
	},
}

// karpenterPool makes a region, a class and a pool, with the user-data of the example for kubeadm, and waits until the class is ready.
func karpenterPool(ctx context.Context, l *lab) error {
	text, err := os.ReadFile("examples/karpenter/kubeadm/nodes.yaml")
	if err != nil {
		return err
	}
	secrets := strings.SplitN(string(text), "\n---\n", 3)
	err = l.apply(ctx, strings.Join(secrets[:2], "\n---\n")+fmt.Sprintf(`
---
apiVersion: v1
kind: Secret
metadata: {name: proxmox, namespace: default}
stringData: {token_id: %q, token_secret: %s, ca.crt: %q}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: bench, namespace: default}
spec: {type: proxmox, endpoint: %q, credentialSecretRef: {name: proxmox}}
---
apiVersion: karpenter.proxmox.sinextra.dev/v1alpha1
kind: ProxmoxUnmanagedTemplate
metadata: {name: bench}
spec: {templateName: %s}
---
apiVersion: karpenter.proxmox.sinextra.dev/v1alpha1
kind: ProxmoxNodeClass
metadata: {name: bench}
spec:
  instanceTemplateRef: {kind: ProxmoxUnmanagedTemplate, name: bench}
  bootDevice: {size: 10Gi}
  metadataOptions:
    type: cdrom
    templatesRef: {namespace: kube-system, name: karpenter-kubeadm}
    valuesRef: {namespace: kube-system, name: karpenter-kubeadm-values}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: bench}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.proxmox.sinextra.dev, kind: ProxmoxNodeClass, name: bench}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
      expireAfter: Never
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 0s, budgets: [{nodes: "100%%"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      nodeSelector: {karpenter.sh/nodepool: bench}
      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}
      containers: [{name: web, image: web, resources: {requests: {cpu: "1"}}}]
`, world.TokenID, world.TokenSecret, sim.CA(), l.pve.Endpoint, world.Template))
	if err != nil {
		return err
	}
	return l.until(ctx, "the class is ready", func() (bool, error) {
		out, err := l.plane.Kubectl(ctx, "get", "proxmoxnodeclass", "bench", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`).Output()
		return err == nil && string(out) == "True", nil
	})
}

// pods wants so many Pods, each on a node of its own.
func pods(ctx context.Context, l *lab, n int) error {
	return l.patch(ctx, "deployment", "default", fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
}

func (l *lab) patch(ctx context.Context, kind, namespace, patch string) error {
	if out, err := l.plane.Kubectl(ctx, "-n", namespace, "patch", kind, "web", "--type=merge", "-p", patch).CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl patch: %w\n%s", err, out)
	}
	return nil
}

// podsRun reports whether all Pods are bound.
func podsRun(l *lab, n int) bool {
	bound := 0
	for _, o := range l.pods.List() {
		if p, ok := o.(*corev1.Pod); ok && p.Labels["app"] == "web" && p.Spec.NodeName != "" {
			bound++
		}
	}
	return bound == n
}

// machinePool makes a MachineDeployment without machines.
func machinePool(ctx context.Context, l *lab) error {
	return l.apply(ctx, fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: proxmox, namespace: kube-system}
stringData: {token: %s, ca: %q}
---
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDeployment
metadata: {name: web, namespace: kube-system}
spec:
  replicas: 0
  selector: {matchLabels: {pool: web}}
  template:
    metadata: {labels: {pool: web}}
    spec:
      versions: {kubelet: 1.34.2}
      providerSpec:
        value:
          cloudProvider: proxmox
          operatingSystem: ubuntu
          cloudProviderSpec:
            endpoint: %q
            userID: %q
            token: {secretKeyRef: {namespace: kube-system, name: proxmox, key: token}}
            ca: {secretKeyRef: {namespace: kube-system, name: proxmox, key: ca}}
            template: %s
            cpuSockets: 1
            cpuCores: 1
            memoryMB: 1024
            diskSizeGB: 10
`, world.TokenSecret, sim.CA(), l.pve.Endpoint, world.TokenID, world.Template))
}

func replicas(ctx context.Context, l *lab, n int) error {
	return l.patch(ctx, "machinedeployment", "kube-system", fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
}

// nodesReady reports whether so many Nodes are ready.
func nodesReady(l *lab, n int) bool {
	ready := 0
	for _, o := range l.nodes.List() {
		node, ok := o.(*corev1.Node)
		if !ok {
			continue
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	return ready == n
}
