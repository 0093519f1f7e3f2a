package cluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
	"strconv"
)

// kubeVIP is the static pod that holds the VIP: what kube-vip's own generator writes for
//
//	kube-vip manifest pod --controlplane --arp --leaderElection --address VIP
//
// but for the type of the volume. The control plane writes its kubeconfig after the kubelet has
// read this, and without a type the kubelet would make a folder in its place.
func kubeVIP(f *File) (string, error) {
	d, file := distributions[f.Kubernetes.Distribution], corev1.HostPathFile
	env := []corev1.EnvVar{
		{Name: "vip_arp", Value: "true"},
		{Name: "port", Value: strconv.Itoa(apiPort)},
		{Name: "vip_nodename", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
	}
	if i := f.Kubernetes.KubeVIP.Interface; i != "" {
		env = append(env, corev1.EnvVar{Name: "vip_interface", Value: i})
	}
	for _, e := range [][2]string{
		{"vip_subnet", hostBits(f.Provider.VIP)}, {"dns_mode", "first"},
		{"cp_enable", "true"}, {"cp_namespace", metav1.NamespaceSystem},
		{"vip_leaderelection", "true"}, {"vip_leasename", vipLease},
		{"vip_leaseduration", "5"}, {"vip_renewdeadline", "3"}, {"vip_retryperiod", "1"},
		{"address", f.Provider.VIP}, {"prometheus_server", ":2112"},
	} {
		env = append(env, corev1.EnvVar{Name: e[0], Value: e[1]})
	}
	pod := corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "kube-vip", Namespace: metav1.NamespaceSystem},
		Spec: corev1.PodSpec{
			HostNetwork: true,
			HostAliases: []corev1.HostAlias{{IP: "127.0.0.1", Hostnames: []string{"kubernetes"}}},
			Containers: []corev1.Container{{
				Name: "kube-vip", Image: f.Kubernetes.KubeVIP.Image, ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"manager"}, Env: env,
				SecurityContext: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN", "NET_RAW"}, Drop: []corev1.Capability{"ALL"}}},
				VolumeMounts:    []corev1.VolumeMount{{Name: "kubeconfig", MountPath: "/etc/kubernetes/admin.conf"}},
			}},
			Volumes: []corev1.Volume{{Name: "kubeconfig", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: d.kubeconfig(), Type: &file}}}},
		},
	}
	text, err := yaml.Marshal(pod)
	return string(text), err
}

// vipLease is the lease of the control plane that holds the VIP.
const vipLease = "plndr-cp-lock"

// hostBits is the prefix length of a single address.
func hostBits(addr string) string {
	if isIPv6(addr) {
		return "128"
	}
	return "32"
}
