package chart

import (
	"bytes"
	"context"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/tool"
)

const chart = "../../deploy/chart"

// program is one that is built from its module.
func program(t *testing.T, name string) string {
	t.Helper()
	set, err := tool.Open(t.Context(), name)
	if err == nil {
		err = set.Build(t.Context(), t.Output())
	}
	if err != nil {
		t.Fatal(err)
	}
	return set.Path(name)
}

// output runs a command, which must succeed.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args[1:], " "), err, &out, &stderr)
	}
	return out.String()
}

// ways are ways to install the chart, as arguments of helm.
var ways = map[string][]string{
	"as it is": nil,
	"with everything": {
		"--set", "metrics.serviceMonitor.enabled=true,metrics.rules.enabled=true,metrics.dashboard.enabled=true",
		"--set", "networkPolicy.proxmox.cidrs={192.0.2.0/24},networkPolicy.kubernetes.cidrs={198.51.100.1/32},networkPolicy.metricsFrom={monitoring}",
		"--set", "image.pullSecrets[0].name=registry,priorityClassName=system-cluster-critical,nodeSelector.disk=ssd,podLabels.team=infra,podAnnotations.note=x",
		"--set", "tolerations[0].operator=Exists,extraArgs={--retry-period=1s},serviceAccount.annotations.note=x",
	},
	"narrow": {
		"--set", "rbac.secretNamespaces={lab,shop},metrics.secure=true,metrics.certificateSecret=cert,metrics.serviceMonitor.enabled=true",
		"--set", "networkPolicy.dns.namespaces=null,networkPolicy.dns.cidrs={169.254.20.10/32},networkPolicy.extraEgress[0].ports[0].port=3128",
		"--set-string", "proxy.https=http://proxy.example:3128,extraEnv[0].name=GOGC,extraEnv[0].value=100",
		"--set", "topologySpreadConstraints[0].maxSkew=1,topologySpreadConstraints[0].topologyKey=zone,topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway",
	},
	"with all doors": {
		"--set", "machines.enabled=true,karpenter.enabled=true,karpenter.regionsSecret=kube-system/regions,podAnnotations.note=x",
		"--set", "karpenter.instanceTypes[0].name=db.8VCPU-64GB,karpenter.instanceTypes[0].capacity.cpu=8,karpenter.instanceTypes[0].capacity.memory=64Gi",
	},
	"for two namespaces":  {"--set", "namespaces={lab,shop},clusterName=east,replicas=1"},
	"with another's name": {"--set", "serviceAccount.create=false,serviceAccount.name=other,crds.install=false,networkPolicy.enabled=false"},
}

func TestTheChartIsWellFormed(t *testing.T) {
	helm := program(t, "helm")
	for name, args := range ways {
		t.Run(name, func(t *testing.T) {
			output(t, exec.Command(helm, append([]string{"lint", "--strict", chart}, args...)...))
		})
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	helm := program(t, "helm")
	for set, want := range map[string]string{
		"replicas=many":                             "replicas",
		"karpenter.instanceTypes[0].name=small":     "instanceTypes",
		"karpenter.nodePolicy=dynamic":              "nodePolicy",
		"karpenter.nodeSettings.lab.pve1.cpus=4":    "nodeSettings",
		"image.tags=1":                              "tags",
		"log.level=loud":                            "level",
		"networkPolicy.proxmox.cidrs={pve.example}": "cidrs",
		"namespaces={UPPER}":                        "namespaces",
		"rbac.secretNamespaces={*}":                 "secretNamespaces",
		"extraEnv[0].value=x":                       "extraEnv",
		"extraEnv[0].name=GOGC,extraEnv[0].value=1": "extraEnv",
		"proxy.no=x":                                "proxy",
		"topologySpreadConstraints[0].maxSkew=1":    "topologySpreadConstraints",
		"networkPolicy.dns.cidrs={dns.example}":     "cidrs",
	} {
		out, err := exec.Command(helm, "template", "x", chart, "--set", set).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("--set %s: %v\n%s", set, err, out)
		}
	}
}

// Each object is taken by the API server, with all its fields.
func TestEveryObjectIsValid(t *testing.T) {
	plane := start(t)
	for _, namespace := range []string{"proxplane", "lab", "shop"} {
		output(t, plane.Kubectl(t.Context(), "create", "namespace", namespace))
	}
	for name, args := range ways {
		t.Run(name, func(t *testing.T) {
			all := rendered(t, args...)
			if len(all["Deployment"]) != 1 {
				t.Errorf("only %v", slices.Sorted(maps.Keys(all)))
			}
			var known []string
			for kind, docs := range all {
				if kind == "ServiceMonitor" || kind == "PrometheusRule" { // the API server doesn't know these
					isSaid(t, kind, docs)
					continue
				}
				known = append(known, docs...)
			}
			apply := plane.Kubectl(t.Context(), "apply", "--dry-run=server", "--validate=strict", "-f", "-")
			apply.Stdin = strings.NewReader(strings.Join(known, "---\n"))
			output(t, apply)
		})
	}
}

// isSaid fails if one of some objects says nothing.
func isSaid(t *testing.T, kind string, docs []string) {
	t.Helper()
	for _, doc := range docs {
		var o struct {
			Spec map[string]any `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil || len(o.Spec) == 0 {
			t.Errorf("%s says nothing: %v\n%s", kind, err, doc)
		}
	}
}

// start starts a control plane that ends with the test.
func start(t *testing.T) *controlplane.Plane {
	t.Helper()
	plane, err := controlplane.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	return plane
}

// helmCommand is helm as an administrator.
func helmCommand(ctx context.Context, helm string, plane *controlplane.Plane, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, helm, args...)
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+plane.Kubeconfig, "HOME="+filepath.Dir(plane.Kubeconfig))
	return cmd
}
