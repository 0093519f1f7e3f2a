package userdata

import (
	_ "embed"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"
)

// Where things are in the machine.
const (
	setupPath      = "/opt/proxplane/node-setup"
	kubeconfigPath = "/etc/kubernetes/bootstrap-kubelet.conf"
	caPath         = "/etc/kubernetes/pki/ca.crt"
	kubeletConfig  = "/var/lib/kubelet/config.yaml"
	kubeletUnit    = "/etc/systemd/system/kubelet.service"
	containerd     = "unix:///run/containerd/containerd.sock"
	userCAPath     = "/etc/ssh/proxplane_user_ca.pub"
)

// setup is what installs the rest. It can be run again.
//
//go:embed node-setup.sh
var setup string

// What is downloaded where the template has none.
const (
	containerdVersion    = "2.1.4"
	oldContainerdVersion = "1.7.27" // the last kind that kubelets before 1.23 can talk to
	runcVersion          = "1.3.0"
	cniVersion           = "1.7.1"
)

func containerdFor(kubelet *version.Version) string {
	if kubelet.Minor() < stableRuntime {
		return oldContainerdVersion
	}
	return containerdVersion
}

// files are those of all systems.
func (c Config) files(v *version.Version) ([]file, error) {
	config, err := c.kubelet(v)
	if err != nil {
		return nil, err
	}
	script := strings.NewReplacer(
		"@OS@", c.OS, "@KUBELET@", "v"+v.WithBuildMetadata("").String(), "@CONTAINERD@", containerdFor(v), "@RUNC@", runcVersion, "@CNI@", cniVersion,
		"@AUTO_UPDATE@", map[bool]string{true: "no", false: "yes"}[c.DisableAutoUpdate],
	).Replace(setup)
	files := []file{
		{kubeconfigPath, 0o600, string(c.Kubeconfig)},
		{caPath, 0o644, string(c.CA)},
		{kubeletConfig, 0o600, config},
		{kubeletUnit, 0o644, c.unit(v)},
		{"/etc/modules-load.d/kubernetes.conf", 0o644, "overlay\nbr_netfilter\n"},
		{"/etc/sysctl.d/99-kubernetes.conf", 0o644, "net.ipv4.ip_forward = 1\nnet.bridge.bridge-nf-call-iptables = 1\nnet.bridge.bridge-nf-call-ip6tables = 1\n" +
			"vm.overcommit_memory = 1\nkernel.panic = 10\nkernel.panic_on_oops = 1\n"},
		{setupPath, 0o755, script},
	}
	if c.SSHUserCA != "" {
		files = append(files, file{userCAPath, 0o644, strings.TrimSpace(c.SSHUserCA) + "\n"},
			file{"/etc/ssh/sshd_config.d/50-proxplane.conf", 0o644, "TrustedUserCAKeys " + userCAPath + "\n"})
	}
	return files, nil
}

// minors of Kubernetes from which on a kubelet takes something in its file instead of by a flag.
const (
	onlyRemote        = 24 // there is no other kind of runtime
	taintsInConfig    = 23
	runtimeInConfig   = 27
	stableRuntime     = 23 // v1 of the runtime's API
	swapMatters       = 22
	defaultClusterDNS = "10.96.0.10" // kubeadm's
)

// kubelet is the kubelet's configuration.
func (c Config) kubelet(v *version.Version) (string, error) {
	dns := c.ClusterDNS
	if len(dns) == 0 {
		dns = []string{defaultClusterDNS}
	}
	config := map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"authentication":     map[string]any{"anonymous": map[string]any{"enabled": false}, "webhook": map[string]any{"enabled": true}, "x509": map[string]any{"clientCAFile": caPath}},
		"authorization":      map[string]any{"mode": "Webhook"},
		"cgroupDriver":       "systemd",
		"clusterDNS":         dns,
		"clusterDomain":      "cluster.local",
		"rotateCertificates": true,
		"serverTLSBootstrap": true,
		"staticPodPath":      "/etc/kubernetes/manifests",
	}
	if c.ProviderID != "" {
		config["providerID"] = c.ProviderID
	}
	if v.Minor() >= taintsInConfig && len(c.Taints) > 0 {
		config["registerWithTaints"] = c.Taints
	}
	if v.Minor() >= runtimeInConfig {
		config["containerRuntimeEndpoint"] = containerd
	}
	if v.Minor() >= swapMatters {
		config["failSwapOn"] = false
	}
	b, err := yaml.Marshal(config)
	return string(b), err
}

// unit starts the kubelet.
func (c Config) unit(v *version.Version) string {
	flags := []string{
		"--bootstrap-kubeconfig=" + kubeconfigPath, "--kubeconfig=/etc/kubernetes/kubelet.conf", "--config=" + kubeletConfig,
		"--cert-dir=/var/lib/kubelet/pki", "--hostname-override=" + c.Name,
	}
	if v.Minor() < runtimeInConfig {
		flags = append(flags, "--container-runtime-endpoint="+containerd)
	}
	if v.Minor() < onlyRemote {
		flags = append(flags, "--container-runtime=remote")
	}
	if v.Minor() < taintsInConfig && len(c.Taints) > 0 {
		flags = append(flags, "--register-with-taints="+taints(c.Taints))
	}
	return fmt.Sprintf(`[Unit]
Description=Kubernetes node agent
After=containerd.service network-online.target
Wants=containerd.service network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=/opt/bin/kubelet %s
Restart=always
RestartSec=5

[Install]
WantedBy=multi-user.target
`, strings.Join(flags, " \\\n  "))
}

// taints are taints as a flag.
func taints(list []corev1.Taint) string {
	var out []string
	for _, t := range list {
		out = append(out, t.Key+"="+t.Value+":"+string(t.Effect))
	}
	return strings.Join(out, ",")
}
