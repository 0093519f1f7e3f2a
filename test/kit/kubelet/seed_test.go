package kubelet_test

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/proxplane/proxplane/test/kit/kubelet"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: bootstrap
clusters: [{name: bootstrap, cluster: {server: "https://10.0.0.9:6443", certificate-authority-data: Q0E=}}]
users: [{name: kubelet-bootstrap, user: {token: abcdef.0123456789abcdef}}]
contexts: [{name: bootstrap, context: {cluster: bootstrap, user: kubelet-bootstrap}}]
`

func indent(text string) string { return strings.ReplaceAll(text, "\n", "\n      ") }

// Each of the seeds says the same, in its own way.
func TestSeedsAreReadAsTheSystemsInsideReadThem(t *testing.T) {
	for how, user := range map[string]string{
		"kubeadm": `#cloud-config
hostname: n1
write_files:
  - path: /etc/kubernetes/join.yaml
    content: |
      apiVersion: kubeadm.k8s.io/v1beta4
      kind: JoinConfiguration
      discovery:
        bootstrapToken: {token: abcdef.0123456789abcdef, apiServerEndpoint: "10.0.0.9:6443", caCertHashes: ["sha256:aa"]}
      nodeRegistration:
        name: n1
        taints: [{key: karpenter.sh/unregistered, effect: NoExecute}]
        kubeletExtraArgs:
          - {name: provider-id, value: "proxmox://lab/20001"}
          - {name: node-labels, value: "a=b,c=d"}
runcmd: [[kubeadm, join, --config, /etc/kubernetes/join.yaml]]
`,
		"k3s": `#cloud-config
hostname: n1
write_files:
  - path: /etc/rancher/k3s/config.yaml
    content: |
      server: https://10.0.0.9:6443
      token: K10aa::abcdef.0123456789abcdef
      node-label: [a=b, c=d]
      node-taint: ["karpenter.sh/unregistered:NoExecute"]
      kubelet-arg: ["provider-id=proxmox://lab/20001"]
`,
		"rke2": `#cloud-config
hostname: n1
write_files:
  - path: /usr/local/bin/join.sh
    content: |
      RKE2_URL="https://10.0.0.9:6443" RKE2_TOKEN="abcdef.0123456789abcdef" sh install.sh --kubelet-arg "provider-id=proxmox://lab/20001" \
        --kubelet-arg "register-with-taints=karpenter.sh/unregistered:NoExecute" --kubelet-arg "node-labels=a=b,c=d"
`,
		"kubelet": `#cloud-config
hostname: localhost
write_files:
  - path: /etc/kubernetes/bootstrap-kubelet.conf
    encoding: b64
    content: ` + base64.StdEncoding.EncodeToString([]byte(kubeconfig)) + `
  - path: /var/lib/kubelet/config.yaml
    content: |
      kind: KubeletConfiguration
      providerID: proxmox://lab/20001
      registerWithTaints: [{key: karpenter.sh/unregistered, effect: NoExecute}]
  - path: /etc/systemd/system/kubelet.service
    content: |
      ExecStart=/opt/bin/kubelet --node-labels=a=b,c=d \
        --hostname-override=n1
`,
		"talos": `version: v1alpha1
machine:
  network: {hostname: n1}
  nodeLabels: {a: b, c: d}
  kubelet:
    extraConfig: {providerID: "proxmox://lab/20001", registerWithTaints: [{key: karpenter.sh/unregistered, effect: NoExecute}]}
cluster:
  controlPlane: {endpoint: "https://10.0.0.9:6443"}
  token: abcdef.0123456789abcdef
  ca: {crt: Q0E=}
`,
	} {
		s, err := kubelet.ReadSeed(map[string]string{"user-data": user})
		if err != nil {
			t.Errorf("%s: %v", how, err)
			continue
		}
		taints := []corev1.Taint{{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}}
		if s.How != how || s.Name != "n1" || s.Server != "https://10.0.0.9:6443" || s.Token != "abcdef.0123456789abcdef" || s.ProviderID != "proxmox://lab/20001" ||
			!reflect.DeepEqual(s.Labels, map[string]string{"a": "b", "c": "d"}) || !reflect.DeepEqual(s.Taints, taints) {
			t.Errorf("%s: learnt was %+v", how, s)
		}
		if known := string(s.CA) == "CA" || len(s.CAHashes) == 1 || s.CASum == "aa" || how == "rke2"; !known {
			t.Errorf("%s: nothing is known of the CA", how)
		}
	}
}

func TestMachinesWithoutAKubernetesJoinNone(t *testing.T) {
	for _, user := range []string{"", "#cloud-config\nhostname: web\n", `{"ignition":{"version":"3.4.0"}}`, "#!/bin/sh\necho", indent("x: y")} {
		if s, err := kubelet.ReadSeed(map[string]string{"user-data": user}); err == nil {
			t.Errorf("%q: joins %s", user, s.Server)
		}
	}
}
