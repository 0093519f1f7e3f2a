package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// testNamespace is where test pods run, while a check does.
const testNamespace = "proxplane-check"

// testPods is a pod on each node that serves its own name.
func testPods(image string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: check, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: check}}
  template:
    metadata: {labels: {app: check}}
    spec:
      terminationGracePeriodSeconds: 0
      tolerations: [{operator: Exists}]
      containers:
        - name: check
          image: %[2]s
          command: [sh, -c, "mkdir -p /www && hostname >/www/index.html && exec httpd -f -p 8080 -h /www"]
          readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
`, testNamespace, image)
}

// inPods checks what only pods can tell: that they are scheduled, that names resolve in them, and that
// they reach each other across nodes.
func (s *verifying) inPods(ctx context.Context) {
	names := []string{"scheduling", "dns", "networking"}
	if s.Quick || !s.answer {
		for _, n := range names {
			if s.Quick {
				s.add(Finding{Check: n, Skipped: true, Text: "skipped (--quick)"})
			} else {
				s.add(unasked(n))
			}
		}
		return
	}
	pods, f := s.schedule(ctx)
	s.add(f)
	if f.OK {
		s.add(s.dns(ctx, pods))
		s.add(s.network(ctx, pods))
	} else {
		for _, n := range names[1:] {
			s.add(Finding{Check: n, Text: "not known: the test pods don't run"})
		}
	}
	if _, err := s.ask(context.WithoutCancel(ctx), "delete", "namespace", testNamespace, "--wait=false"); err != nil {
		s.add(Finding{Check: "cleanup", Text: err.Error(), Do: "kubectl delete namespace " + testNamespace})
	}
}

// schedule runs a pod on each node.
func (s *verifying) schedule(ctx context.Context) ([]corev1.Pod, Finding) {
	fail := func(err error) ([]corev1.Pod, Finding) {
		return nil, Finding{Check: "scheduling", Text: err.Error(), Do: "The test pods run " + s.Image + "; name an image that the nodes can fetch with --image"}
	}
	if _, err := s.askBut(ctx, "", testPods(s.Image), "apply", "-f", "-"); err != nil {
		return fail(err)
	}
	if _, err := s.ask(ctx, "-n", testNamespace, "rollout", "status", "daemonset/check", "--timeout=120s"); err != nil {
		return fail(err)
	}
	pods, err := list[corev1.Pod](ctx, s.Cluster, "", "-n", testNamespace, "get", "pods")
	switch {
	case err != nil:
		return fail(err)
	}
	pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !podReady(p) || p.DeletionTimestamp != nil })
	if lacking := lackPod(s.known, pods); len(lacking) > 0 {
		return fail(fmt.Errorf("no test pod runs on %s", strings.Join(lacking, ", ")))
	}
	return pods, Finding{Check: "scheduling", OK: true, Text: fmt.Sprintf("a pod runs on each of %d nodes", len(pods))}
}

// lackPod are the nodes that none of some pods is on.
func lackPod(nodes map[string]corev1.Node, pods []corev1.Pod) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Spec.NodeName == name }) {
			list = append(list, name)
		}
	}
	return list
}

// dns resolves a name in a pod of each node.
func (s *verifying) dns(ctx context.Context, pods []corev1.Pod) Finding {
	const name = "kubernetes.default.svc.cluster.local"
	var problems []string
	for _, p := range pods {
		if _, err := s.ask(ctx, "-n", testNamespace, "exec", p.Name, "--", "nslookup", name); err != nil {
			problems = append(problems, fmt.Sprintf("a pod on %s can't resolve %s", p.Spec.NodeName, name))
		}
	}
	return wrong("dns", "pods resolve names on each node", problems, "Look at coredns: kubectl -n kube-system get pods")
}

// network has pods of each node reach the next one.
func (s *verifying) network(ctx context.Context, pods []corev1.Pod) Finding {
	var problems []string
	if len(pods) < 2 {
		return Finding{Check: "networking", Skipped: true, Text: "skipped: there is only one node"}
	}
	for i, p := range pods {
		to := pods[(i+1)%len(pods)]
		said, err := s.ask(ctx, "-n", testNamespace, "exec", p.Name, "--", "wget", "-q", "-T", "5", "-O", "-", fmt.Sprintf("http://%s:8080/", hostOf(to.Status.PodIP)))
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("a pod on %s doesn't reach one on %s", p.Spec.NodeName, to.Spec.NodeName))
		case strings.TrimSpace(said) != to.Name: // pods serve their own names
			problems = append(problems, fmt.Sprintf("a pod on %s reaches something else than the one on %s at %s", p.Spec.NodeName, to.Spec.NodeName, to.Status.PodIP))
		}
	}
	return wrong("networking", "pods reach each other across nodes", problems, "Look at the network's pods (canal, cilium, …), and at firewalls between the machines")
}
