package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/karpenter"
)

// envOf is the environment that the chart gives the operator.
func envOf(t *testing.T, args ...string) map[string]corev1.EnvVar {
	t.Helper()
	all := map[string]corev1.EnvVar{}
	for _, e := range only[appsv1.Deployment](t, rendered(t, args...), "Deployment").Spec.Template.Spec.Containers[0].Env {
		all[e.Name] = e
	}
	return all
}

func TestTheOperatorsEnvironment(t *testing.T) {
	env := envOf(t)
	if limit := env["PROXPLANE_MEMORY_LIMIT"].ValueFrom; len(env) != 1 || limit == nil || limit.ResourceFieldRef.Resource != "limits.memory" {
		t.Errorf("by default it is %+v", env)
	}
	env = envOf(t, "--set", "proxy.https=http://proxy.example:3128,proxy.noProxy=192.0.2.0/24,extraEnv[0].name=GOMEMLIMIT,extraEnv[0].value=300MiB")
	if env["HTTPS_PROXY"].Value != "http://proxy.example:3128" || env["HTTP_PROXY"].Name != "" || env["GOMEMLIMIT"].Value != "300MiB" {
		t.Errorf("with a proxy it is %+v", env)
	}
	if without := env["NO_PROXY"].Value; without != "$(KUBERNETES_SERVICE_HOST),192.0.2.0/24" {
		t.Errorf("without the proxy it reaches %s", without)
	}
}

func TestReplicasAreSpreadOverWhatIsAskedFor(t *testing.T) {
	const zone = "topologySpreadConstraints[0].maxSkew=1,topologySpreadConstraints[0].topologyKey=topology.kubernetes.io/zone,topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway"
	pod := only[appsv1.Deployment](t, rendered(t, "--set", zone), "Deployment").Spec.Template
	spread := pod.Spec.TopologySpreadConstraints
	if len(spread) != 1 || spread[0].TopologyKey != "topology.kubernetes.io/zone" || !selects(t, spread[0].LabelSelector, pod.Labels) {
		t.Errorf("it is %+v", spread)
	}
	pod = only[appsv1.Deployment](t, rendered(t, "--set", zone+",topologySpreadConstraints[0].labelSelector.matchLabels.app=other"), "Deployment").Spec.Template
	if s := pod.Spec.TopologySpreadConstraints[0].LabelSelector; s.MatchLabels["app"] != "other" {
		t.Errorf("another selector becomes %+v", s)
	}
}

func TestNamesAreLookedUpElsewhere(t *testing.T) {
	egress := func(args ...string) []networkingv1.NetworkPolicyEgressRule {
		return only[networkingv1.NetworkPolicy](t, rendered(t, args...), "NetworkPolicy").Spec.Egress
	}
	rules := egress("--set", "networkPolicy.dns.namespaces=null,networkPolicy.dns.cidrs={169.254.20.10/32},networkPolicy.dns.ports={5353}")
	if to := rules[0].To; len(to) != 1 || to[0].IPBlock.CIDR != "169.254.20.10/32" || len(rules[0].Ports) != 2 || rules[0].Ports[0].Port.IntValue() != 5353 {
		t.Errorf("names are looked up at %+v", rules[0])
	}
	if to := egress("--set", "networkPolicy.dns.namespaces={dns}")[0].To; len(to) != 1 || !slices.Contains(to[0].NamespaceSelector.MatchExpressions[0].Values, "dns") {
		t.Errorf("names are looked up at %+v", to)
	}
	if to := egress("--set", "networkPolicy.dns.namespaces=null")[0].To; len(to) != 0 {
		t.Errorf("names are looked up at %+v", to)
	}
	rules = egress("--set", "networkPolicy.extraEgress[0].to[0].ipBlock.cidr=203.0.113.0/24,networkPolicy.extraEgress[0].ports[0].port=3128")
	if last := rules[len(rules)-1]; last.To[0].IPBlock.CIDR != "203.0.113.0/24" || last.Ports[0].Port.IntValue() != 3128 {
		t.Errorf("the last rule is %+v", last)
	}
}

// Secrets may be read in the namespaces that are named and nowhere else.
func TestSecretsAreReadWhereItIsAllowed(t *testing.T) {
	all := rendered(t, "--set", "rbac.secretNamespaces={lab,shop}")
	for _, doc := range all["ClusterRole"] {
		if strings.Contains(doc, "secrets") {
			t.Errorf("they may be read everywhere:\n%s", doc)
		}
	}
	var where []string
	for _, doc := range all["Role"] {
		var role struct {
			Metadata struct{ Namespace string }
		}
		if err := yaml.Unmarshal([]byte(doc), &role); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(doc, "secrets") {
			where = append(where, role.Metadata.Namespace)
		}
	}
	if slices.Sort(where); !slices.Equal(where, []string{"lab", "shop"}) {
		t.Errorf("they may be read in %v", where)
	}
}

// Instance types are a file that the operator can read, and a change of them restarts it.
func TestInstanceTypesAreAFileOfTheOperator(t *testing.T) {
	with := func(cpus string) (pod corev1.PodTemplateSpec, file corev1.ConfigMap) {
		all := rendered(t, "--set", "karpenter.enabled=true", "--set-json", `karpenter.instanceTypes=[{"name":"db.large","capacity":{"cpu":`+cpus+`,"memory":"64Gi"},"price":0.3}]`)
		for _, doc := range all["ConfigMap"] {
			var c corev1.ConfigMap
			if err := yaml.Unmarshal([]byte(doc), &c); err != nil {
				t.Fatal(err)
			}
			if c.Data["instance-types.json"] != "" {
				return only[appsv1.Deployment](t, all, "Deployment").Spec.Template, c
			}
		}
		t.Fatal("there is no file")
		return pod, file
	}
	pod, file := with("8")
	const arg, folder = "--karpenter-instance-types=/etc/proxplane/karpenter/instance-types.json", "/etc/proxplane/karpenter"
	c := pod.Spec.Containers[0]
	if !slices.Contains(c.Args, arg) || !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == folder }) ||
		!slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil && v.ConfigMap.Name == file.Name }) {
		t.Errorf("it isn't where it is looked for: %v %+v", c.Args, pod.Spec.Volumes)
	}
	at := filepath.Join(t.TempDir(), "types.json")
	if err := os.WriteFile(at, []byte(file.Data["instance-types.json"]), 0o600); err != nil {
		t.Fatal(err)
	}
	sizes, err := karpenter.ReadSizes(at)
	if err != nil || len(sizes) != 1 || sizes[0].Name != "db.large" || sizes[0].Capacity.Memory().String() != "64Gi" || *sizes[0].Price != 0.3 {
		t.Errorf("%v, %v", sizes, err)
	}
	if other, _ := with("16"); other.Annotations["proxplane.io/karpenter-files"] == pod.Annotations["proxplane.io/karpenter-files"] {
		t.Error("a change doesn't restart the operator")
	}
}

// The certificate of the metrics is a Secret of the administrator's, or none.
func TestMetricsAreServedWithTheChosenCertificate(t *testing.T) {
	pod := only[appsv1.Deployment](t, rendered(t, "--set", "metrics.secure=true,metrics.certificateSecret=cert"), "Deployment").Spec.Template.Spec
	args := pod.Containers[0].Args
	if !slices.Contains(args, "--metrics-secure") || !slices.Contains(args, "--metrics-cert-dir=/etc/proxplane/metrics") {
		t.Errorf("the arguments are %v", args)
	}
	if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == "cert" }) {
		t.Errorf("the volumes are %+v", pod.Volumes)
	}
	if pod := only[appsv1.Deployment](t, rendered(t, "--set", "metrics.certificateSecret=cert"), "Deployment").Spec.Template.Spec; len(pod.Volumes) != 1 {
		t.Errorf("without TLS the volumes are %+v", pod.Volumes)
	}
	monitor := rendered(t, "--set", "metrics.secure=true,metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.tlsConfig.serverName=pp")["ServiceMonitor"][0]
	if !strings.Contains(monitor, "scheme: https") || !strings.Contains(monitor, "serverName: pp") || strings.Contains(monitor, "insecureSkipVerify") {
		t.Error("Prometheus doesn't verify the certificate as it is told to:\n" + monitor)
	}
}

// Settings of Proxmox nodes are a file that the operator can read, also without instance types.
func TestSettingsOfNodesAreAFileOfTheOperator(t *testing.T) {
	all := rendered(t, "--set", "karpenter.enabled=true,karpenter.nodePolicy=static", "--set-json", `karpenter.nodeSettings={"lab":{"*":{"reservedcpus":[0],"reservedmemory":4294967296}}}`)
	c := only[appsv1.Deployment](t, all, "Deployment").Spec.Template.Spec.Containers[0]
	for _, arg := range []string{"--karpenter-node-policy=static", "--karpenter-node-settings=/etc/proxplane/karpenter/node-settings.json"} {
		if !slices.Contains(c.Args, arg) {
			t.Errorf("%s isn't among %v", arg, c.Args)
		}
	}
	at := filepath.Join(t.TempDir(), "settings.json")
	for _, doc := range all["ConfigMap"] {
		var c corev1.ConfigMap
		if err := yaml.Unmarshal([]byte(doc), &c); err != nil {
			t.Fatal(err)
		}
		if text := c.Data["node-settings.json"]; text != "" {
			if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s, err := karpenter.ReadNodeSettings(at); err != nil || len(s["lab"]) != 1 {
		t.Errorf("%v, %v", s, err)
	}
}
