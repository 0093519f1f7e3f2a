package chart

import (
	"bytes"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/cli"
)

// rendered are the objects of the chart, by kind.
func rendered(t *testing.T, args ...string) map[string][]string {
	t.Helper()
	text := output(t, exec.Command(program(t, "helm"), append([]string{"template", "pp", chart, "-n", "proxplane"}, args...)...))
	all := map[string][]string{}
	for _, doc := range regexp.MustCompile(`(?m)^---\n`).Split(text, -1) {
		var o metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatalf("%v:\n%s", err, doc)
		}
		if o.Kind != "" {
			all[o.Kind] = append(all[o.Kind], doc)
		}
	}
	return all
}

// only reads the one object of a kind.
func only[T any](t *testing.T, all map[string][]string, kind string) T {
	t.Helper()
	var o T
	if len(all[kind]) != 1 {
		t.Fatalf("there are %d of %s", len(all[kind]), kind)
	}
	if err := yaml.UnmarshalStrict([]byte(all[kind][0]), &o); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return o
}

func selects(t *testing.T, selector *metav1.LabelSelector, pod map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return !s.Empty() && s.Matches(labels.Set(pod))
}

func TestReplicasAreApartAndHaveNoRightsOnTheirNode(t *testing.T) {
	all := rendered(t)
	d := only[appsv1.Deployment](t, all, "Deployment")
	pod := d.Spec.Template
	if *d.Spec.Replicas != 2 || !selects(t, d.Spec.Selector, pod.Labels) {
		t.Errorf("%d replicas, selected by %v", *d.Spec.Replicas, d.Spec.Selector)
	}
	apart := pod.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm
	if apart.TopologyKey != "kubernetes.io/hostname" || !selects(t, apart.LabelSelector, pod.Labels) {
		t.Errorf("they are apart by %+v", apart)
	}
	if s := pod.Spec.SecurityContext; s == nil || !*s.RunAsNonRoot || *s.RunAsUser == 0 || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod runs as %+v", s)
	}
	c := pod.Spec.Containers[0]
	if s := c.SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || !reflect.DeepEqual(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("it may %+v", s)
	}
	ofNode := func(v corev1.Volume) bool { return v.EmptyDir == nil }
	if slices.ContainsFunc(pod.Spec.Volumes, ofNode) || pod.Spec.HostNetwork || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("it has %+v", pod.Spec)
	}
	ports := map[string]int32{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	if ports["health"] != 8081 || c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.ReadinessProbe.HTTPGet.Port.StrVal != "health" {
		t.Errorf("it is asked %+v, %+v", c.LivenessProbe, c.ReadinessProbe)
	}

	budget := only[policyv1.PodDisruptionBudget](t, all, "PodDisruptionBudget")
	if budget.Spec.MaxUnavailable.IntValue() != 1 || !selects(t, budget.Spec.Selector, pod.Labels) {
		t.Errorf("the budget is %+v", budget.Spec)
	}
	if one := rendered(t, "--set", "replicas=1"); len(one["PodDisruptionBudget"]) > 0 {
		t.Error("a budget for one replica would keep its node from being drained")
	}
}

// The program takes the arguments that the chart gives it.
func TestTheOperatorTakesItsArguments(t *testing.T) {
	for name, args := range ways {
		d := only[appsv1.Deployment](t, rendered(t, args...), "Deployment")
		var out bytes.Buffer
		if code := cli.Main(t.Context(), append(d.Spec.Template.Spec.Containers[0].Args, "--help"), nil, &out, &out); code != 0 {
			t.Errorf("%s: %s", name, &out)
		}
	}
}

func TestTheNetworkPolicyIsNarrow(t *testing.T) {
	args := []string{"--set", "networkPolicy.proxmox.cidrs={192.0.2.0/24},networkPolicy.kubernetes.cidrs={198.51.100.1/32},networkPolicy.metricsFrom={monitoring}"}
	for _, way := range [][]string{nil, args} {
		all := rendered(t, way...)
		pod := only[appsv1.Deployment](t, all, "Deployment").Spec.Template.Labels
		p := only[networkingv1.NetworkPolicy](t, all, "NetworkPolicy").Spec
		if !selects(t, &p.PodSelector, pod) || !slices.Contains(p.PolicyTypes, "Ingress") || !slices.Contains(p.PolicyTypes, "Egress") {
			t.Errorf("it is for %+v, %v", p.PodSelector, p.PolicyTypes)
		}
		for _, e := range p.Egress {
			if len(e.Ports) == 0 || way != nil && len(e.To) == 0 {
				t.Errorf("it may speak to %+v", e)
			}
		}
		for _, i := range p.Ingress {
			if len(i.Ports) != 1 || i.Ports[0].Port.IntValue() != 8080 || way != nil && len(i.From) == 0 {
				t.Errorf("it may be spoken to by %+v", i)
			}
		}
	}
}

func TestPrometheusFindsTheReplicas(t *testing.T) {
	all := rendered(t, "--set", "metrics.serviceMonitor.enabled=true")
	service := only[corev1.Service](t, all, "Service")
	pod := only[appsv1.Deployment](t, all, "Deployment").Spec.Template
	if !selects(t, &metav1.LabelSelector{MatchLabels: service.Spec.Selector}, pod.Labels) {
		t.Errorf("the Service selects %v", service.Spec.Selector)
	}
	monitor := only[struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Selector          metav1.LabelSelector `json:"selector"`
			NamespaceSelector map[string]any       `json:"namespaceSelector,omitempty"`
			Endpoints         []struct {
				Port        string `json:"port"`
				Interval    string `json:"interval"`
				HonorLabels bool   `json:"honorLabels,omitempty"`
			} `json:"endpoints"`
		} `json:"spec"`
	}](t, all, "ServiceMonitor")
	if !selects(t, &monitor.Spec.Selector, service.Labels) || len(monitor.Spec.Endpoints) != 1 {
		t.Fatalf("it looks for %+v", monitor.Spec)
	}
	if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == monitor.Spec.Endpoints[0].Port }) {
		t.Errorf("the Service has no port %s", monitor.Spec.Endpoints[0].Port)
	}
}

func TestTheNotesSayWhatToDoNext(t *testing.T) {
	helm, plane := program(t, "helm"), start(t)
	said := output(t, helmCommand(t.Context(), helm, plane, "install", "pp", chart, "-n", "proxplane", "--create-namespace", "--dry-run=server"))
	for _, want := range []string{"kubectl -n proxplane rollout status deployment/pp-proxplane", "kubectl create secret generic pve-credentials", "kind: Provider", "networkPolicy.proxmox.cidrs"} {
		if !strings.Contains(said, want) {
			t.Errorf("the notes don't say %q", want)
		}
	}
}
