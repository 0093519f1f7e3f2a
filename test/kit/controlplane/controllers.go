package controlplane

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
)

// controllers are those that tests with nodes need. None of them approves certificates: that is for those who are
// tested.
var controllers = []string{
	"bootstrap-signer-controller", "token-cleaner-controller", "certificatesigningrequest-signing-controller", "certificatesigningrequest-cleaner-controller",
	"node-lifecycle-controller", "taint-eviction-controller", "pod-garbage-collector-controller", "garbage-collector-controller", "namespace-controller",
	"replicaset-controller", "deployment-controller", "daemonset-controller", "statefulset-controller", "job-controller", "disruption-controller",
	"horizontal-pod-autoscaler-controller",
}

// Grace is how long a node may be silent before it is no longer ready.
const Grace = "20s"

// StartControllers starts kube-controller-manager, and gives the cluster what "kubeadm init" gives it for machines
// that join. Nodes that are silent aren't ready after [Grace].
func (p *Plane) StartControllers(ctx context.Context) error {
	ports, err := FreePorts(1)
	if err != nil {
		return err
	}
	err = p.startMore("kube-controller-manager",
		"--kubeconfig", p.Kubeconfig, "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port", fmt.Sprint(ports[0]), "--cert-dir", p.file("controller-manager"),
		"--controllers", strings.Join(controllers, ","), "--service-account-private-key-file", p.file("sa.key"), "--root-ca-file", p.file("ca.crt"),
		"--cluster-signing-cert-file", p.file("ca.crt"), "--cluster-signing-key-file", p.file("ca.key"),
		"--node-monitor-period=1s", "--horizontal-pod-autoscaler-sync-period=1s", "--node-monitor-grace-period", Grace, "--kube-api-qps=500", "--kube-api-burst=1000", "--v=0")
	if err != nil {
		return err
	}
	return p.asKubeadm(ctx)
}

// StartScheduler starts kube-scheduler.
func (p *Plane) StartScheduler() error {
	ports, err := FreePorts(1)
	if err != nil {
		return err
	}
	return p.startMore("kube-scheduler", "--kubeconfig", p.Kubeconfig, "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port", fmt.Sprint(ports[0]),
		"--cert-dir", p.file("scheduler"), "--kube-api-qps=500", "--kube-api-burst=1000", "--pod-max-in-unschedulable-pods-duration=30s", "--v=0")
}

func (p *Plane) startMore(program string, args ...string) error {
	m, err := start(p.dir, p.set.Path(program), args...)
	if err == nil {
		p.more = append(p.more, m)
	}
	return err
}

// Log is the end of what a program of the control plane has said.
func (p *Plane) Log(program string) string {
	return (&process{log: p.file(program + ".log")}).lastWords()
}

// joining is what "kubeadm init" leaves in a cluster so that machines with a token can join: the address and CA of the API
// server where anybody can read them, and the right to ask for a certificate.
const joining = `
apiVersion: v1
kind: ConfigMap
metadata: {name: cluster-info, namespace: kube-public}
data:
  kubeconfig: |
    apiVersion: v1
    kind: Config
    clusters:
    - name: ""
      cluster: {server: %q, certificate-authority-data: %s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "kubeadm:bootstrap-signer-clusterinfo", namespace: kube-public}
rules:
- {apiGroups: [""], resources: [configmaps], resourceNames: [cluster-info], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "kubeadm:bootstrap-signer-clusterinfo", namespace: kube-public}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "kubeadm:bootstrap-signer-clusterinfo"}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:anonymous"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "kubeadm:kubelet-bootstrap"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:node-bootstrapper"}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:bootstrappers:kubeadm:default-node-token"}
`

func (p *Plane) asKubeadm(ctx context.Context) error {
	ca, err := os.ReadFile(p.file("ca.crt"))
	if err != nil {
		return err
	}
	var failed error
	for range 30 { // the namespace kube-public is there a moment after the API server
		apply := p.Kubectl(ctx, "apply", "-f", "-")
		apply.Stdin = strings.NewReader(fmt.Sprintf(joining, p.URL, base64.StdEncoding.EncodeToString(ca)))
		out, err := apply.CombinedOutput()
		if err == nil {
			return nil
		}
		if failed = fmt.Errorf("kubectl apply: %w\n%s", err, out); ctx.Err() != nil || !bytes.Contains(out, []byte("kube-public")) {
			break
		}
	}
	return errors.Join(errors.New("set the cluster up for machines that join"), failed)
}
