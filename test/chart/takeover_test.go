package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	karpapis "sigs.k8s.io/karpenter/pkg/apis"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// original is what of karpenter-provider-proxmox' chart is in Kubernetes after an installation, beside its definitions.
var original = map[string]string{
	"Chart.yaml": "apiVersion: v2\nname: karpenter-provider-proxmox\nversion: 0.3.0\n",
	"templates/deployment.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}
spec:
  replicas: 1
  selector: {matchLabels: {app.kubernetes.io/instance: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app.kubernetes.io/instance: {{ .Release.Name }}}}
    spec: {containers: [{name: controller, image: "ghcr.io/sergelogvinov/karpenter-provider-proxmox:{{ .Values.image.tag }}"}]}
---
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}
data: {config.yaml: {{ toYaml .Values.config | b64enc | quote }}}
`,
	"templates/custom.yaml": `{{- range $name, $o := .Values.customResources.nodeTemplate }}
---
apiVersion: karpenter.proxmox.sinextra.dev/v1alpha1
kind: {{ $o.kind }}
metadata: {name: {{ $name }}}
spec: {{- $o.spec | toYaml | nindent 2 }}
{{- end }}
{{- range $name, $o := .Values.customResources.nodeClass }}
---
apiVersion: karpenter.proxmox.sinextra.dev/v1alpha1
kind: ProxmoxNodeClass
metadata: {name: {{ $name }}}
spec: {{- $o.spec | toYaml | nindent 2 }}
{{- end }}
{{- range $name, $o := .Values.customResources.nodePools }}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: {{ $name }}}
spec: {{- $o.spec | toYaml | nindent 2 }}
{{- end }}
`,
}

// originalValues are values of karpenter-provider-proxmox' chart: those of its documentation, and what people add.
const originalValues = `replicaCount: 1
logVerbosityLevel: debug
image: {tag: v0.12.0}
config:
  clusters:
    - url: %[1]s/api2/json
      insecure: true
      token_id: "%[2]s"
      token_secret: "%[3]s"
      region: Region-1
settings:
  batchIdleDuration: 500ms
  vmMemoryOverheadPercent: 0.05
  featureGates: {spotToSpotConsolidation: true}
nodeSelector: {node-role.kubernetes.io/control-plane: ""}
hostAliases: [{ip: 192.0.2.1, hostnames: [pve1.example.com]}]
extraEnvs:
- {name: INSTANCE_TYPES_FILE, value: %[4]s}
- {name: PROXMOX_VMID, value: "30000"}
- {name: GOGC, value: "200"}
extraArgs: [-node-policy, simple, --disable-leader-election, -batch-max-duration=2s]
extraVolumes: [{name: types, configMap: {name: types}}]
extraVolumeMounts: [{name: types, mountPath: /etc/karpenter}]
customResources:
  nodeTemplate:
    default: {enabled: true, kind: ProxmoxUnmanagedTemplate, spec: {templateName: ubuntu-22-template}}
  nodeClass:
    default: {enabled: true, spec: {instanceTemplateRef: {kind: ProxmoxUnmanagedTemplate, name: default}, bootDevice: {size: 30Gi}, securityGroups: []}}
  nodePools:
    default:
      enabled: true
      spec:
        limits: {cpu: "64"}
        template:
          spec:
            nodeClassRef: {group: karpenter.proxmox.sinextra.dev, kind: ProxmoxNodeClass, name: default}
            requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
`

// Who has karpenter-provider-proxmox types what docs/karpenter.md says, and goes on: its objects stay, its values count, its node is neither touched nor lost,
// and the next machine is ours. What is otherwise here than there is where the chart is, and that nothing runs pods.
func TestTheOriginalIsTakenOverAsThePageSays(t *testing.T) {
	helm, plane, dir := program(t, "helm"), start(t), t.TempDir()
	server := simulate(t, func(w *pvesim.World) {
		w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 20001, Node: w.Nodes[0].Name, Running: true, System: pvesim.WithAgent, Config: map[string]string{
			"name": "default-abcde", "ostype": "l26", "cores": "2", "memory": "4096", "scsi0": "local-lvm:30", "net0": "virtio,bridge=vmbr0", "tags": "karpenter",
		}})
	})
	types := filepath.Join(dir, "types.json")
	place(t, types, []byte(`[{"name": "db.2VCPU-6GB", "capacity": {"cpu": "2", "memory": "6Gi"}}]`))
	values := filepath.Join(dir, "theirs.yaml")
	place(t, values, fmt.Appendf(nil, originalValues, server.Endpoint, sim.TokenID, sim.TokenSecret, types))
	defined(t, plane)
	theirs := filepath.Join(dir, "theirs")
	for name, text := range original {
		place(t, filepath.Join(theirs, name), []byte(text))
	}
	output(t, helmCommand(t.Context(), helm, plane, "install", "-n", "kube-system", "-f", values, "karpenter-provider-proxmox", theirs))
	claim := plane.Kubectl(t.Context(), "create", "-f", "-")
	claim.Stdin = strings.NewReader("apiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata:\n  name: default-abcde\n  labels: {karpenter.sh/nodepool: default, topology.kubernetes.io/region: Region-1}\n  finalizers: [karpenter.sh/termination]\nspec:\n" +
		"  nodeClassRef: {group: karpenter.proxmox.sinextra.dev, kind: ProxmoxNodeClass, name: default}\n  requirements: []\n")
	output(t, claim)
	output(t, plane.Kubectl(t.Context(), "patch", "nodeclaim", "default-abcde", "--subresource=status", "--type=merge", "-p", launched))
	ids := func() string {
		return output(t, plane.Kubectl(t.Context(), "get", "nodepools,proxmoxnodeclasses,proxmoxunmanagedtemplates,nodeclaims", "-o", `jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid} {.metadata.deletionTimestamp}{"\n"}{end}`))
	}
	before, foreign := ids(), digest(server, "20001")

	blocks := steps(t, "../../docs/karpenter.md", "From karpenter-provider-proxmox")
	if len(blocks) != 4 {
		t.Fatalf("there are %d blocks of commands", len(blocks))
	}
	shell := func(block string) string {
		t.Helper()
		kubectl := plane.Kubectl(t.Context())
		here, err := filepath.Abs(chart)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", strings.ReplaceAll(block, "oci://ghcr.io/proxplane/charts/proxplane", here))
		cmd.Dir = dir
		cmd.Env = append(kubectl.Env, "KUBECONFIG="+plane.Kubeconfig, "HOME="+dir, "PATH="+filepath.Dir(kubectl.Path)+":"+filepath.Dir(helm)+":"+os.Getenv("PATH"))
		return output(t, cmd)
	}
	shell(blocks[0])
	if said := shell(blocks[1]); !strings.Contains(said, "Of karpenter.original this isn't taken over: image, settings.vmMemoryOverheadPercent.") || strings.Contains(said, "kind: Provider") {
		t.Errorf("helm says\n%s", said)
	}
	serve(t, plane, "kube-system", "proxplane")
	output(t, plane.Kubectl(t.Context(), "wait", "--for=condition=Ready", "proxmoxunmanagedtemplate/default", "proxmoxnodeclass/default", "nodepool/default", "--timeout", patience.String()))
	if shown := shell(blocks[2]); !strings.Contains(shown, "nodeclaim.karpenter.sh/default-abcde") {
		t.Errorf("there is\n%s", shown)
	}
	output(t, plane.Kubectl(t.Context(), "wait", `--for=jsonpath={.metadata.annotations.karpenter\.sh/do-not-disrupt}=true`, "nodeclaim/default-abcde", "--timeout", patience.String()))
	shell(blocks[3])
	if now := ids(); now != before {
		t.Errorf("there were\n%sand there are\n%s", before, now)
	}
	if left := output(t, plane.Kubectl(t.Context(), "get", "deployment", "-A", "-o", "name")); left != "deployment.apps/proxplane\n" {
		t.Errorf("deployments are %s", left)
	}
	ours := plane.Kubectl(t.Context(), "create", "-f", "-")
	ours.Stdin = strings.NewReader("apiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {name: default-fghij, labels: {karpenter.sh/nodepool: default}}\nspec:\n" +
		"  nodeClassRef: {group: karpenter.proxmox.sinextra.dev, kind: ProxmoxNodeClass, name: default}\n  requirements: []\n  resources: {requests: {cpu: \"1\"}}\n")
	output(t, ours)
	output(t, plane.Kubectl(t.Context(), "wait", "--for=condition=Launched", "nodeclaim/default-fghij", "--timeout", patience.String()))
	if id := output(t, plane.Kubectl(t.Context(), "get", "nodeclaim", "default-fghij", "-o", `jsonpath={.status.providerID} {.metadata.labels.node\.kubernetes\.io/instance-type}`)); !strings.HasPrefix(id, "proxmox://Region-1/") || id < "proxmox://Region-1/30000" || !strings.HasSuffix(id, " db.2VCPU-6GB") {
		t.Errorf("the next machine is %s", id)
	}
	if digest(server, "20001") != foreign {
		t.Error("the machine of the original isn't as it was")
	}
}

// launched is the status of a NodeClaim whose machine the original has made.
var launched = fmt.Sprintf(`{"status":{"providerID":"proxmox://Region-1/20001","conditions":[`+strings.TrimSuffix(strings.Repeat(`{"type":"%s","status":"True","reason":"x","message":"","lastTransitionTime":"`+time.Now().UTC().Format(time.RFC3339)+`"},`, 3), ",")+`]}}`, "Launched", "Registered", "Initialized")

// digest is what a machine is like.
func digest(server *sim.Server, name string) (text string) {
	server.Do(func(st *pvesim.State) { text = sim.VM(st, name).Digest() })
	return text
}

// defined has Kubernetes know the kinds as the original's chart defines them, which no release of Helm owns.
func defined(t *testing.T, plane *controlplane.Plane) {
	t.Helper()
	files, err := filepath.Glob("../../deploy/crds/karpenter/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	create := func(text string) {
		t.Helper()
		cmd := plane.Kubectl(t.Context(), "create", "-f", "-")
		cmd.Stdin = strings.NewReader(text)
		output(t, cmd)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		create(strings.ReplaceAll(string(text), "name the template by templateName, by tags, or by both", "at least one of templateName or tags must be specified"))
	}
	for _, crd := range karpapis.CRDs {
		text, err := yaml.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		create(string(text))
	}
	output(t, plane.Kubectl(t.Context(), "wait", "--for=condition=established", "crd", "--all"))
}

// Values of the original have their places in the chart, also without clusters, and what the chart itself says counts more.
func TestValuesOfTheOriginalHaveTheirPlaces(t *testing.T) {
	with := func(values map[string]any, more ...string) map[string][]string {
		t.Helper()
		text, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "values.json")
		place(t, file, text)
		asText := rendered(t, append([]string{"--set-file", "karpenter.original=" + file}, more...)...)
		asObject := rendered(t, append([]string{"--set-json", "karpenter.original=" + string(text)}, more...)...)
		if a, b := asText["Deployment"][0], asObject["Deployment"][0]; a != b && len(values) > 0 {
			t.Errorf("a file says\n%s\nand an object\n%s", a, b)
		}
		return asText
	}
	for _, c := range []struct {
		reason string
		values map[string]any
		more   []string
		want   []string
		not    []string
	}{
		{"nothing is set: a Secret of people, and the original's defaults", map[string]any{}, nil,
			[]string{"--doors=vm,karpenter", "--karpenter-regions=proxplane/karpenter-provider-proxmox\n", "priorityClassName: system-cluster-critical", "key: node.cloudprovider.kubernetes.io/uninitialized"}, []string{"--karpenter-vmids"}},
		{"a Secret of another name", map[string]any{"existingConfigSecret": "login", "existingConfigSecretKey": "cfg", "tolerations": []any{}, "priorityClassName": ""}, nil,
			[]string{"--karpenter-regions=proxplane/login/cfg"}, []string{"priorityClassName", "uninitialized"}},
		{"flags count more than variables, with one hyphen or two", map[string]any{"extraEnvs": []any{map[string]any{"name": "NODE_POLICY", "value": "simple"}}, "extraArgs": []string{"-node-policy", "static", "--proxmox-vmid=95000", "-log-level=error", "--cloud-config=/x"}}, nil,
			[]string{"--karpenter-node-policy=static", "--karpenter-vmids=95000-104999", "--log-level=error"}, []string{"NODE_POLICY", "cloud-config"}},
		{"the chart's own values count more", map[string]any{"nodeSelector": map[string]any{"a": "b"}, "settings": map[string]any{"batchIdleDuration": "5s"}}, []string{"--set", "nodeSelector.c=d,karpenter.regionsSecret=lab/regions,karpenter.arguments={--batch-idle-duration=1s}"},
			[]string{"c: d", "--karpenter-regions=lab/regions", "- --karpenter-argument=--batch-idle-duration=5s\n        - --karpenter-argument=--batch-idle-duration=1s"}, []string{"a: b"}},
	} {
		pod := with(c.values, c.more...)["Deployment"][0]
		for _, text := range c.want {
			if !strings.Contains(pod, text) {
				t.Errorf("%s: %s isn't in\n%s", c.reason, text, pod)
			}
		}
		for _, text := range c.not {
			if strings.Contains(pod, text) {
				t.Errorf("%s: %s is in\n%s", c.reason, text, pod)
			}
		}
	}
	// What somebody has of its objects named default lies over what its chart has of them.
	file := filepath.Join(t.TempDir(), "values.yaml")
	place(t, file, []byte("nameOverride: nodes\ncustomResources:\n  nodeTemplate: {default: {enabled: true}}\n  nodeClass: {default: {enabled: true, spec: {bootDevice: {size: 50Gi}, securityGroups: [], tags: null}}}\n  nodePools: {default: {enabled: true, spec: {limits: {cpu: \"8\"}}}, other: {enabled: false}}\n"))
	docs := rendered(t, "--set-file", "karpenter.original="+file)
	for kind, want := range map[string]string{
		"ProxmoxUnmanagedTemplate": "spec:\n  templateName: talos\n", "ProxmoxNodeClass": "spec:\n  bootDevice:\n    size: 50Gi\n  instanceTemplateRef:\n    kind: ProxmoxUnmanagedTemplate\n    name: default\n  securityGroups: []\n",
		"NodePool": "  limits:\n    cpu: \"8\"\n    memory: 512Gi\n  template:\n    spec:\n      nodeClassRef:\n", "Deployment": "--karpenter-regions=proxplane/karpenter-provider-proxmox-nodes\n",
	} {
		if len(docs[kind]) != 1 || !strings.Contains(docs[kind][0]+"\n", want) || strings.Contains(docs[kind][0], "tags:") {
			t.Errorf("%s: want\n%s\nin\n%s", kind, want, docs[kind])
		}
	}
	out, err := exec.Command(program(t, "helm"), "template", "x", chart, "--set-string", "karpenter.original=a: b: c").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "karpenter.original has to be the values of karpenter-provider-proxmox") {
		t.Errorf("what is no YAML: %v\n%s", err, out)
	}
}
