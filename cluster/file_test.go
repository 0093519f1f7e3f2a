package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/examples"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// page is the file of the page that this door is for, unchanged.
const page = `name: my-proxmox-cluster
provider:
  type: proxmox
  node: pve                   # Proxmox node hostname
  bridge: vmbr0               # Network bridge (default)
  datastore: local-lvm        # Storage datastore (default)
  vip: 192.168.1.200          # Free IP on network for kube-vip
  # vlanTag: 100              # Optional VLAN tag

kubernetes:
  version: "1.30"
  distribution: rke2

nodes:
  controlPlane:
    count: 1
  workers:
    count: 2
`

func TestTheFileOfThePageIsReadWithItsDefaults(t *testing.T) {
	f, err := Read("cluster.yaml", []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	cp, workers := f.Nodes.ControlPlane, f.Nodes.Workers
	if cp.CPU != 4 || cp.Memory != 8192 || cp.Disk != 50 || workers.CPU != 4 || workers.Memory != 8192 || workers.Disk != 100 {
		t.Errorf("sizes: %+v, %+v", cp, workers)
	}
	var names []string
	for _, n := range NodesOf(f) {
		names = append(names, n.Name)
	}
	if got := strings.Join(names, " "); got != "my-proxmox-cluster-cp-0 my-proxmox-cluster-worker-0 my-proxmox-cluster-worker-1" {
		t.Errorf("machines: %s", got)
	}
	short, err := Read("cluster.yaml", []byte("name: a\nprovider: {type: proxmox, node: pve, vip: 192.168.1.200}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if p := short.Provider; p.Bridge != "vmbr0" || p.Datastore != "local-lvm" || short.Kubernetes.Distribution != "rke2" || *short.Nodes.Workers.Count != 2 {
		t.Errorf("defaults: %+v, %+v", p, short.Kubernetes)
	}
}

func TestTheSampleCanBeRead(t *testing.T) {
	if _, err := Read("cluster.yaml", []byte(Sample)); err != nil {
		t.Error(err)
	}
}

// Each mistake is one sentence, with the line that it is in.
func TestMistakesInTheFileAreSaidInOneSentence(t *testing.T) {
	var all strings.Builder
	for _, c := range []struct{ why, from, to string }{
		{"wrong type", "type: proxmox", "type: hetzner"},
		{"no type", "type: proxmox", ""},
		{"a field of another provider", "node: pve ", "region: eu\n  node: pve "},
		{"missing node", "node: pve ", ""},
		{"node and nodes", "node: pve ", "nodes: [a]\n  node: pve "},
		{"a node twice", "node: pve ", "nodes: [pve1, pve2, pve1] "},
		{"a node twice in a pool", "count: 2", "count: 2\n    nodes: [pve1, pve1]"},
		{"missing VIP", "vip: 192.168.1.200", ""},
		{"invalid VIP", "192.168.1.200", "192.168.1"},
		{"VIP that no machine can have", "192.168.1.200", "127.0.0.1"},
		{"VIP outside the network", "192.168.1.200", "10.0.0.5\n  network: {prefix: 192.168.1.0/24}"},
		{"VIP outside the network of static addresses", "count: 1", "count: 1\n    addresses: [10.1.1.2/24]"},
		{"VIP is the address of a machine", "count: 1", "count: 1\n    addresses: [192.168.1.200/24]"},
		{"too few addresses", "count: 2", "count: 2\n    addresses: [192.168.1.3/24]"},
		{"a pool without its network", "vip: 192.168.1.200", "vip: 192.168.1.200\n  network: {pool: [192.168.1.10-192.168.1.20]}"},
		{"unknown version", `"1.30"`, `newest`},
		{"release of the other distribution", `"1.30"`, `v1.30.4+k3s1`},
		{"checksum of a channel", `"1.30"`, `"1.30"` + "\n  checksum: " + strings.Repeat("a", 64)},
		{"unknown distribution", "distribution: rke2", "distribution: rke"},
		{"unknown CNI", "distribution: rke2", "distribution: rke2\n  cni: weave"},
		{"even number of control planes", "count: 1", "count: 2"},
		{"no control plane", "count: 1", "count: 0"},
		{"negative count", "count: 2", "count: -1"},
		{"name with dots", "name: my-proxmox-cluster", "name: my.cluster"},
		{"no name", "name: my-proxmox-cluster", ""},
		{"a name that machines can't have", "name: my-proxmox-cluster", "name: My_Cluster"},
		{"unknown field", "bridge: vmbr0", "brigde: vmbr0"},
		{"unknown field in a pool", "count: 2", "count: 2\n    mem: 4096"},
		{"instance type", "count: 2", "count: 2\n    instanceType: t3.large"},
		{"too little memory", "count: 2", "count: 2\n    memory: 8"},
		{"a number is wanted", "count: 2", "count: two"},
		{"a whole number is wanted", "count: 2", "count: 2.5"},
		{"a size with a unit", "count: 2", "count: 2\n    memory: 8Gi"},
		{"a size of nothing", "count: 2", "count: 2\n    cpu: 0"},
		{"a text is wanted", "node: pve ", "node: [pve] "},
		{"a text is wanted below a field", "count: 2", "count: 2\n    labels: {a: [b]}"},
		{"a field that is given twice", "count: 2", "count: 2\n    count: 3"},
		{"a list is wanted", "count: 2", "count: 2\n    taints: a=b:NoSchedule"},
		{"true or false is wanted", "node: pve ", "ha: sometimes\n  node: pve "},
		{"a name of a pool that has none", "count: 2", "count: 2\n    name: big"},
		{"a type in capitals", "type: proxmox", "type: Proxmox"},
		{"VIP of the link", "192.168.1.200", "fe80::5"},
		{"VIP in another way of writing", "192.168.1.200", "\"::ffff:192.168.1.200\""},
		{"source that is no URL", "distribution: rke2", "distribution: rke2\n  source: mirror.test/rke2"},
		{"fields are wanted", "controlPlane:\n    count: 1", "controlPlane: 1"},
		{"a label that Kubernetes doesn't know", "count: 2", "count: 2\n    labels: {\"a b\": c}"},
		{"a value that no label can have", "count: 2", "count: 2\n    labels: {a: \"b c\"}"},
		{"a label that a kubelet refuses", "count: 2", "count: 2\n    labels: {node-role.kubernetes.io/worker: \"\"}"},
		{"a taint that no node can have", "count: 2", "count: 2\n    taints: [\"a=-:NoSchedule\"]"},
		{"a name that the API server can't have", "distribution: rke2", "distribution: rke2\n  sans: [a b]"},
		{"a variable that can't be", "distribution: rke2", "distribution: rke2\n  env: {HTTPS-PROXY: a}"},
		{"a variable of two lines", "distribution: rke2", "distribution: rke2\n  env: {A: \"b\\nc\"}"},
		{"registries under another name", "distribution: rke2", "distribution: rke2\n  registries: {mirror: {}}"},
		{"registries that are none", "distribution: rke2", "distribution: rke2\n  registries: {mirrors: 3}"},
		{"images that nobody can fetch", "distribution: rke2", "distribution: rke2\n  images: [{url: /tmp/images, checksum: " + strings.Repeat("a", 64) + "}]"},
		{"services among the pods", "distribution: rke2", "distribution: rke2\n  podCIDR: 10.43.0.0/16"},
		{"the machines' network is that of pods by default", "192.168.1.200", "10.42.7.5"},
		{"taint", "count: 2", "count: 2\n    taints: [gpu]"},
		{"not YAML", "provider:", "provider: ["},
		{"token in config", "distribution: rke2", "distribution: rke2\n  config: {token: abc}"},
		{"manifest without content", "distribution: rke2", "distribution: rke2\n  manifests: [{name: a}]"},
		{"gitops without a repository", "nodes:", "gitops: {enabled: true}\nnodes:"},
		{"VIP that is the gateway", "192.168.1.200", "192.168.1.1\n  network: {prefix: 192.168.1.0/24, gateway: 192.168.1.1}"},
		{"VIP that is the address of all", "192.168.1.200", "192.168.1.255\n  network: {prefix: 192.168.1.0/24}"},
		{"VIP that is the network", "192.168.1.200", "192.168.1.0\n  network: {prefix: 192.168.1.0/24}"},
		{"the same address twice", "count: 2", "count: 2\n    addresses: [192.168.1.3/24, 192.168.1.3/24]"},
		{"pods in the network of the machines", "distribution: rke2", "distribution: rke2\n  podCIDR: 192.168.0.0/16"},
		{"pods in a part of the machines' network", page[strings.Index(page, "192.168.1.200"):strings.Index(page, "nodes:")], "192.168.1.200\n  network: {prefix: 192.168.1.0/24}\nkubernetes: {version: \"1.30\", podCIDR: 192.168.1.0/25}\n"},
		{"a password in a URL", "nodes:", "gitops: {enabled: true, repository: \"https://me:secret@git.test/lab\"}\nnodes:"},
		{"a token in a URL of a mirror", "distribution: rke2", "distribution: rke2\n  registries: {mirrors: {docker.io: {endpoint: [\"https://token@mirror.test\"]}}}"},
		{"vault mode", "nodes:", "components: {vault: {enabled: true, mode: extern}}\nnodes:"},
	} {
		if !strings.Contains(page, c.from) {
			t.Fatalf("%s: the page has no %q", c.why, c.from)
		}
		text := strings.Replace(page, c.from, c.to, 1)
		_, err := Read("cluster.yaml", []byte(text))
		if err == nil {
			t.Errorf("%s: nothing is wrong with it", c.why)
			continue
		}
		all.WriteString(c.why + "\n    " + strings.ReplaceAll(err.Error(), "\n", "\n    ") + "\n")
	}
	golden.Compare(t, "mistakes.txt", all.String())
}

func TestNetworksOfPodsMayBeGivenInConfig(t *testing.T) {
	text := strings.NewReplacer("192.168.1.200", "10.42.7.5", "distribution: rke2", "distribution: rke2\n  config: {cluster-cidr: 10.52.0.0/16}").Replace(page)
	if _, err := Read("cluster.yaml", []byte(text)); err != nil {
		t.Error(err)
	}
}

func TestLabelsOfNodesThatAKubeletTakes(t *testing.T) {
	for key, want := range map[string]bool{
		"disk": true, "example.com/disk": true, "topology.kubernetes.io/zone": true, "node.kubernetes.io/instance-type": true, "gpu.node.kubernetes.io/model": true,
		"node-role.kubernetes.io/worker": false, "kubernetes.io/role": false, "k8s.io/a": false, "my.k8s.io/a": false, "notkubernetes.io/a": true,
	} {
		if ownLabel(key) != want {
			t.Errorf("%s: %t", key, !want)
		}
	}
}

func TestPasswordsAreTakenWhereRecordsDoNotHaveThem(t *testing.T) {
	text := strings.Replace(page, "distribution: rke2", `distribution: rke2
  env: {HTTPS_PROXY: "http://me:secret@proxy:3128"}
  config: {etcd-s3-endpoint: "https://me:secret@s3.test"}
  registries: {configs: {mirror.test: {auth: {password: "https://me:secret@x"}}}}
  manifests: [{name: a, content: "https://me:secret@x"}]
  charts: [{name: a, chart: a, values: {url: "https://me:secret@x"}}]`, 1)
	text = strings.Replace(text, "nodes:", "gitops: {enabled: true, repository: \"ssh://git@git.test/lab\"}\nnodes:", 1)
	f, err := Read("cluster.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if packed, err := f.withoutSecrets(); err != nil || strings.Contains(toYAML(t, packed), "secret@") {
		t.Errorf("the record has a password (%v)", err)
	}
}

func toYAML(t *testing.T, v any) string {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNoMachineGetsTheVIPFromThePool(t *testing.T) {
	for _, c := range []struct {
		pool, exclude []string
		want          string
	}{
		{[]string{"192.168.1.100-192.168.1.250"}, nil, "192.168.1.200"},
		{[]string{"192.168.1.192/28"}, []string{"192.168.1.193"}, "192.168.1.193 192.168.1.200"},
		{[]string{"192.168.1.10", "192.168.1.200"}, nil, "192.168.1.200"},
		{[]string{"192.168.1.100-192.168.1.250"}, []string{"192.168.1.200-192.168.1.210"}, "192.168.1.200-192.168.1.210"},
		{[]string{"192.168.1.100-192.168.1.199"}, nil, ""},
	} {
		if have := strings.Join(excluded(Network{Pool: c.pool, Exclude: c.exclude}, "192.168.1.200"), " "); have != c.want {
			t.Errorf("of %v without %v, no machine gets %q, want %q", c.pool, c.exclude, have, c.want)
		}
	}
}

func TestAFileCanNameManifestsBesideIt(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "ns.yaml"), []byte("kind: Namespace\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Read(filepath.Join(folder, "cluster.yaml"), []byte(strings.Replace(page, "distribution: rke2", "distribution: rke2\n  manifests: [{name: ns, file: ns.yaml}]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if m := f.Kubernetes.Manifests[0]; m.Content != "kind: Namespace\n" || m.File != "" {
		t.Errorf("%+v", m)
	}
}

// The notes of a control plane give back what was written, whatever it is.
func TestTheRecordComesBackFromNotes(t *testing.T) {
	f, err := Read("cluster.yaml", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	r := Record{Generation: 3, File: f, Release: someRelease}
	for _, n := range NodesOf(f) {
		text, err := r.notes(n, someRelease)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := parseNotes("somebody wrote this\n" + text + "\nand that")
		if !ok || got.Node != n || got.Release != someRelease {
			t.Fatalf("%s: %v, %+v", n.Name, ok, got)
		}
		if !n.Server() {
			continue
		}
		back, err := unpack(got.Cluster)
		if err != nil {
			t.Fatal(err)
		}
		again, err := back.pack()
		if err != nil || again != got.Cluster || back.Generation != 3 || back.File.Nodes.Pools[0].Labels["gpu"] != "yes" {
			t.Errorf("%s: %v, %+v", n.Name, err, back)
		}
	}
	f.Kubernetes.Manifests = []Manifest{{Name: "big", Content: noise(20000)}} // only the machines have it
	if _, err := r.notes(NodesOf(f)[0], someRelease); err != nil {
		t.Error(err)
	}
	f.Kubernetes.SANs = []string{noise(20000)}
	if _, err := r.notes(NodesOf(f)[0], someRelease); err == nil {
		t.Error("what doesn't fit is taken")
	}
}

// noise can't be compressed.
func noise(n int) string {
	var b strings.Builder
	for x := uint32(1); b.Len() < n; x = x*1664525 + 1013904223 {
		b.WriteByte('!' + byte(x>>24)%90)
	}
	return b.String()
}

func TestTheExampleIsACluster(t *testing.T) {
	text, err := examples.Cluster.ReadFile("cluster/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if f, err := Read("cluster.yaml", text); err != nil || len(NodesOf(f)) != 3 {
		t.Errorf("%v", err)
	}
}

func TestRecordsHaveNoSecrets(t *testing.T) {
	f := &File{Name: "lab"}
	f.Kubernetes = Kubernetes{
		Registries: map[string]any{
			"mirrors": map[string]any{"docker.io": map[string]any{"endpoint": []any{"https://mirror.test"}}},
			"configs": map[string]any{"mirror.test": map[string]any{"auth": map[string]any{"username": "me", "password": "secret-1"}, "tls": map[string]any{"ca_file": "/ca"}}},
		},
		Env:       map[string]string{"HTTPS_PROXY": "http://me:secret-2@proxy:3128"},
		Config:    map[string]any{"etcd-s3": true, "etcd-s3-secret-key": "secret-3", "nothing": nil},
		Manifests: []Manifest{{Name: "key", Content: "{kind: Secret, stringData: {key: secret-4}}"}},
		Charts:    []Chart{{Name: "db", Chart: "db", Values: map[string]any{"auth": map[string]any{"password": "secret-5"}}}},
	}
	f.Fill()
	packed, err := Record{File: f}.pack()
	if err != nil {
		t.Fatal(err)
	}
	r, err := unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := yaml.Marshal(r); err != nil || strings.Contains(string(text), "secret-1") || strings.Contains(string(text), "secret-2") || strings.Contains(string(text), "secret-3") ||
		strings.Contains(string(text), "secret-4") || strings.Contains(string(text), "secret-5") || !strings.Contains(string(text), "etcd-s3-secret-key") {
		t.Errorf("the record has a secret, or lacks what isn't one (%v):\n%s", err, text)
	}
	if !r.File.lacksSecrets() || r.File.hasSecrets() || f.lacksSecrets() || !f.hasSecrets() {
		t.Error("the record has to say that values are missing, and the file stays as it was")
	}
	full, err := r.File.withSecrets(f)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f.Kubernetes, full.Kubernetes); diff != "" {
		t.Errorf("with what a machine has, it isn't the file again (-want +have):\n%s", diff)
	}
	if !sameSecrets(f, full) || sameSecrets(f, r.File) {
		t.Error("the same secrets have to be told from others")
	}
	delete(f.Kubernetes.Env, "HTTPS_PROXY")
	if _, err := r.File.withSecrets(f); err == nil || !strings.Contains(err.Error(), "don't have kubernetes.env.HTTPS_PROXY;") {
		t.Errorf("a value that no machine has gives: %v", err)
	}
}
