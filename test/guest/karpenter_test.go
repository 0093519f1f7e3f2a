package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/image"
)

// here is what a guest of the tests lacks and any other Debian has: name servers, and in /boot what its kernel was built with,
// which kubeadm reads. The example's script for an image as it comes begins with it.
const here = "    curl -fsSL -o /boot/%s https://%s\n    echo nameserver 192.168.77.1 >/etc/resolv.conf\n"

// kernelConfigAt is where guests find that.
const kernelConfigAt = "releases.test/kernel-config"

// initialized is what "kubeadm init" stores for machines that join, beside what every control plane of the tests has.
const initialized = `apiVersion: v1
kind: ConfigMap
metadata: {name: kubeadm-config, namespace: kube-system}
data:
  ClusterConfiguration: |
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: ClusterConfiguration
    kubernetesVersion: v%s
    networking: {dnsDomain: cluster.local, serviceSubnet: 10.0.0.0/24}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kubelet-config, namespace: kube-system}
data:
  kubelet: |
    apiVersion: kubelet.config.k8s.io/v1beta1
    kind: KubeletConfiguration
    authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: /etc/kubernetes/pki/ca.crt}}
    authorization: {mode: Webhook}
    cgroupDriver: systemd
    clusterDNS: [10.0.0.10]
    clusterDomain: cluster.local
    rotateCertificates: true
    staticPodPath: /etc/kubernetes/manifests
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "kubeadm:nodes-kubeadm-config", namespace: kube-system}
rules:
- {apiGroups: [""], resources: [configmaps], resourceNames: [kubeadm-config, kubelet-config], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "kubeadm:nodes-kubeadm-config", namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "kubeadm:nodes-kubeadm-config"}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:bootstrappers:kubeadm:default-node-token"}
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:nodes"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "kubeadm:get-nodes"}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "kubeadm:get-nodes"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "kubeadm:get-nodes"}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:bootstrappers:kubeadm:default-node-token"}
`

// asKubeadm makes the control plane one that machines can join by "kubeadm join", from where guests find it.
func (k *kubernetes) asKubeadm() {
	t := k.l.t
	t.Helper()
	k.apply(fmt.Sprintf(initialized, k.release.Version))
	info, err := k.kubectl("", "get", "configmap", "cluster-info", "-n", "kube-public", "-o", "yaml")
	if err == nil {
		_, err = k.kubectl(strings.ReplaceAll(info, k.URL, apiForGuests), "replace", "-f", "-")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// kubeadmExample is the example for kubeadm, with a template and a storage of this lab.
func (k *kubernetes) kubeadmExample() string {
	t := k.l.t
	t.Helper()
	name, config, err := image.KernelConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k.m.put(kernelConfigAt, config, "")
	text, err := os.ReadFile("../../examples/karpenter/kubeadm/nodes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	docs := strings.Split(string(text), "\n---\n")
	if len(docs) != 5 {
		t.Fatalf("the example has %d objects", len(docs))
	}
	const begins = "\n    set -eu\n"
	docs[0] = strings.Replace(docs[0], begins, begins+fmt.Sprintf(here, name, kernelConfigAt), 1)
	docs[2] = `apiVersion: karpenter.proxmox.sinextra.dev/v1alpha1
kind: ProxmoxUnmanagedTemplate
metadata: {name: kubeadm}
spec: {templateName: node}
`
	docs[3] = strings.NewReplacer("kind: ProxmoxTemplate,", "kind: ProxmoxUnmanagedTemplate,", "size: 30G, storage: local-lvm", "size: 4G, storage: local").Replace(docs[3])
	return strings.Join(docs, "\n---\n")
}

func TestARealKubeletJoinsAsAKarpenterNode(t *testing.T) {
	w, parts := nodeWorld(t)
	l := newLab(t, w)
	k := newKubernetes(l, parts, "kubelet", "kubeadm")
	for _, kinds := range []string{"../../deploy/crds", "../../deploy/crds/karpenter"} {
		if err := k.Define(t.Context(), kinds); err != nil {
			t.Fatal(err)
		}
	}
	k.asKubeadm()
	sizes := filepath.Join(l.dir, "sizes.json")
	if err := os.WriteFile(sizes, []byte(`[{"name": "lab.2VCPU-1.5GB", "capacity": {"cpu": "2", "memory": "1536Mi", "pods": "110"}}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	k.operate("--doors", "karpenter", "--karpenter-instance-types", sizes)
	l.eventually("Karpenter's own kinds", func(context.Context) error {
		_, err := k.kubectl("", "get", "nodepools,nodeclaims")
		return err
	})
	k.apply(fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: proxmox, namespace: default}
stringData: {token_id: root@pam!doors, token_secret: %s}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: lab, namespace: default}
spec: {type: proxmox, endpoint: %q, fingerprint: %q, credentialSecretRef: {name: proxmox}}
---
`, tokenSecret, l.endpoint, l.print) + k.kubeadmExample())
	began := time.Now()
	k.apply(`apiVersion: v1
kind: Pod
metadata: {name: first, namespace: default}
spec:
  nodeSelector: {karpenter.sh/nodepool: kubeadm}
  containers: [{name: pause, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "1", memory: 256Mi}}}]
`)
	name := k.starts("nodeclaims")
	took := func(what string) { t.Logf("%s: %s after %s", name, what, time.Since(began).Round(time.Second)) }
	took("its machine is started")
	k.joins(name, began)
	for _, fetched := range []string{kernelConfigAt, k.releases("kubelet"), k.releases("kubeadm"), pluginsAt(parts)} {
		k.m.wasAsked(t, fetched)
	}

	k.shows("nodeclaim/"+name, `{.status.conditions[?(@.type=="Registered")].status} {.status.conditions[?(@.type=="Initialized")].status} {.status.conditions[?(@.type=="Ready")].status} {.status.nodeName}`,
		"True True True "+name)
	took("its NodeClaim is initialized")
	k.shows("pod/first", "{.spec.nodeName}", name)
	id := fmt.Sprintf("proxmox://lab/%d", l.vm(name).ID)
	k.shows("nodeclaim/"+name, "{.status.providerID}", id)
	k.shows("node/"+name, `{.spec.providerID} {.metadata.labels.karpenter\.sh/nodepool} {.metadata.labels.topology\.kubernetes\.io/zone} {.metadata.labels.node\.kubernetes\.io/instance-type} {.spec.taints}`,
		id+" kubeadm pve1 lab.2VCPU-1.5GB ")
	k.shows("node/"+name, "{.status.nodeInfo.kubeletVersion}", "v"+k.release.Version)
	k.hasCertificates(name)
	k.hasNoTokens()
	// The kubelet reserves what Karpenter counts with.
	k.shows("node/"+name, "{.status.allocatable.cpu}", "1940m")
	k.shows("nodeclaim/"+name, "{.status.allocatable.cpu}", "1940m")
	l.eventually("the disc with the token is gone", func(context.Context) error { return l.discs(name) })
	took("the disc with its token is detached and deleted")

	// The NodePool may have no more nodes, so that the Pod, which is evicted, brings no other one.
	began = time.Now()
	if _, err := k.kubectl("", "patch", "nodepool", "kubeadm", "--type=merge", "-p", `{"spec": {"limits": {"cpu": "0"}}}`); err != nil {
		t.Fatal(err)
	}
	if _, err := k.kubectl("", "delete", "nodeclaim", name, "--wait=false"); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"pod/first", "node/" + name, "nodeclaim/" + name} {
		l.eventually("no "+gone, func(context.Context) error {
			out, err := k.kubectl("", "get", gone, "--ignore-not-found", "-o", "yaml")
			if err == nil && out != "" {
				err = errors.New(out)
			}
			return err
		})
		took(gone + " is gone, since it was deleted,")
	}
	l.sim.Do(func(st *pvesim.State) {
		for id, vm := range st.VMs {
			if vm.Name() == name {
				t.Errorf("VM %d is left", id)
			}
		}
	})
	if out, err := k.kubectl("", "get", "events", "--field-selector", "involvedObject.name=first", "-o", "jsonpath={.items[*].reason}"); err != nil || !strings.Contains(out, "Evicted") {
		t.Errorf("events of the Pod: %q, %v", out, err)
	}
}

// shows waits until fields of an object are as they should be.
func (k *kubernetes) shows(object, fields, want string) {
	k.l.t.Helper()
	k.l.eventually(object, func(context.Context) error {
		got, err := k.kubectl("", "get", object, "-o", "jsonpath="+fields)
		if err == nil && got != want {
			err = fmt.Errorf("%s is %q and not %q", fields, got, want)
		}
		return err
	})
}

// discs says which ISO images a guest has, or a storage; nil: there are none.
func (l *lab) discs(name string) (err error) {
	l.sim.Do(func(st *pvesim.State) {
		for _, vm := range st.VMs {
			if text, _ := json.Marshal(vm.Conf); vm.Name() == name && strings.Contains(string(text), ".iso") {
				err = fmt.Errorf("the config is %s", text)
			}
		}
		for _, space := range st.Spaces {
			for volume := range space.Volumes {
				if strings.HasPrefix(volume, "iso/") {
					err = errors.Join(err, fmt.Errorf("there is %s", volume))
				}
			}
		}
	})
	return err
}
