package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/test/kit/golden"
	"github.com/proxplane/proxplane/test/kit/need"
)

var someRelease = Release{
	Version: "v1.30.14+rke2r1", Checksum: strings.Repeat("0f", 32),
	URL: "https://github.com/rancher/rke2/releases/download/v1.30.14+rke2r1/rke2.linux-amd64.tar.gz",
}

// everything is a file that says all that can be said about nodes.
const everything = `name: lab
provider:
  type: proxmox
  nodes: ["*"]
  vip: 192.168.1.200
  sshKeys: [ssh-ed25519 AAAA me]
  network: {prefix: 192.168.1.0/24, gateway: 192.168.1.1, dns: [192.168.1.1], pool: [192.168.1.50-192.168.1.99]}
kubernetes:
  version: v1.30.14+rke2r1
  cni: cilium
  podCIDR: 10.50.0.0/16
  serviceCIDR: 10.51.0.0/16
  sans: [k8s.example.com]
  images:
    - {url: https://mirror/rke2-images.linux-amd64.tar.zst, checksum: 1111111111111111111111111111111111111111111111111111111111111111}
  registries:
    mirrors:
      docker.io: {endpoint: [https://mirror]}
  manifests:
    - {name: ns, content: "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"}
  charts:
    - {name: hello, repo: https://charts, chart: hello, namespace: hello, values: {replicas: 2}}
  disable: [rke2-metrics-server]
  config: {profile: cis}
  snapshots: {schedule: "0 */6 * * *", retention: 10}
  kubeletArgs: {max-pods: "200"}
  env: {HTTPS_PROXY: "http://proxy:3128"}
nodes:
  controlPlane: {count: 3, taints: ["node-role.kubernetes.io/control-plane:NoSchedule"]}
  workers: {count: 1}
  pools:
    - {name: gpu, count: 1, cpu: 8, memory: 32768, disk: 200, labels: {gpu: "yes"}, taints: ["gpu=yes:NoSchedule"], kubeletArgs: {max-pods: "50"}}
gitops: {enabled: true, repository: "https://git/lab.git", path: clusters/lab}
components:
  traefik: {enabled: true, version: 30.0.0}
  vault: {enabled: true}
  externalSecrets: {enabled: true}
`

// rendered are user-data by name.
func rendered(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	add := func(name, text string, pick ...int) {
		f, err := Read("cluster.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		r := someRelease
		if f.Kubernetes.Distribution == "k3s" {
			r.Version, r.URL = "v1.30.14+k3s1", "https://github.com/k3s-io/k3s/releases/download/v1.30.14+k3s1/k3s"
		}
		nodes := NodesOf(f)
		for _, i := range pick {
			data, err := UserData(Record{Generation: 1, File: f, Release: r}, nodes[i], "s3cret-token")
			if err != nil {
				t.Fatal(err)
			}
			all[name+"-"+strings.TrimPrefix(nodes[i].Name, f.Name+"-")] = data
		}
	}
	add("page", page, 0, 1)
	add("all", everything, 0, 1, 4)
	add("k3s", strings.Replace(page, "rke2", "k3s", 1), 0, 1)
	return all
}

func TestUserDataIsAsTheFileSays(t *testing.T) {
	for name, text := range rendered(t) {
		golden.Compare(t, name+".yaml", strings.Replace(text, indented(nodeScript), "        (node-script.sh)\n", 1))
	}
}

// indented is the script as YAML has it in the user-data.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString("        ")
		}
		b.WriteString(line)
	}
	return b.String()
}

func TestCloudInitTakesTheUserData(t *testing.T) {
	program := need.Program(t, "cloud-init")
	for name, text := range rendered(t) {
		file := filepath.Join(t.TempDir(), "user-data")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if said, err := exec.Command(program, "schema", "--config-file", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
	}
}

func TestShellcheckHasNothingToSayAboutTheScript(t *testing.T) {
	program := need.Program(t, "shellcheck")
	if said, err := exec.Command(program, "node-script.sh").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// Who joins, joins through the VIP; who is first doesn't join; and nothing but what belongs to a
// control plane is in one.
func TestEverybodyJoinsThroughTheVIP(t *testing.T) {
	f, err := Read("cluster.yaml", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range NodesOf(f) {
		text, err := UserData(Record{Generation: 1, File: f, Release: someRelease}, n, "s3cret-token")
		if err != nil {
			t.Fatal(err)
		}
		var c cloudConfig
		if err := yaml.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, w := range c.WriteFiles {
			files[w.Path] = w.Content
			if strings.Contains(w.Content, "s3cret-token") && w.Permissions != "0600" {
				t.Errorf("%s: %s has the token, and the permissions %s", n.Name, w.Path, w.Permissions)
			}
		}
		config := files["/etc/rancher/rke2/config.yaml"]
		if joins := strings.Contains(config, "server: https://192.168.1.200:9345"); joins != (i > 0) {
			t.Errorf("%s: joins is %v", n.Name, joins)
		}
		if vip := files["/var/lib/rancher/rke2/agent/pod-manifests/kube-vip.yaml"]; (vip != "") != n.Server() || n.Server() && !strings.Contains(vip, "value: 192.168.1.200") {
			t.Errorf("%s: kube-vip is %q", n.Name, vip)
		}
		if sans := strings.Contains(config, "- 192.168.1.200\n"); sans != n.Server() {
			t.Errorf("%s: the VIP among the SANs is %v", n.Name, sans)
		}
	}
}

func TestTheScriptFetchesWhatItVerifies(t *testing.T) {
	// The script as a guest runs it, with the programs of the system replaced by ones that say what
	// they were asked for.
	need.Program(t, "sha256sum")
	run := func(sum string) (string, error) {
		root := t.TempDir()
		bin := filepath.Join(root, "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"curl":      "#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; [ \"$1\" = -o ] && out=$2; done\necho release >\"$out\"\n",
			"tar":       "#!/bin/sh\necho \"tar $*\"\n",
			"cp":        "#!/bin/sh\necho \"cp $*\"\n",
			"systemctl": "#!/bin/sh\necho \"systemctl $*\"\n",
		} {
			if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		script := strings.NewReplacer("/etc/", root+"/etc/", "/run/", root+"/run/", "/usr/local", root+"/usr/local", "/var/lib", root+"/var/lib").Replace(nodeScript)
		if err := os.MkdirAll(filepath.Join(root, "etc/proxplane"), 0o755); err != nil {
			t.Fatal(err)
		}
		r := Release{Version: "v1.30.14+rke2r1", URL: "https://x/rke2.tar.gz", Checksum: sum}
		if err := os.WriteFile(filepath.Join(root, "etc/proxplane/release"), []byte(releaseText(distributions["rke2"], r, true)), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", script)
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		phase, _ := os.ReadFile(filepath.Join(root, "run/proxplane/phase"))
		return string(out) + "phase: " + string(phase), err
	}
	const right = "54ca15d84f8ed5a4b7c5bbd4fd1a1aa2b3d8d2b0a9e3f6a2a5a6c4ad8d8a8b5e" // of another text
	if out, err := run(right); err == nil || !strings.Contains(out, "phase: failed: the checksum of https://x/rke2.tar.gz isn't "+right) || strings.Contains(out, "systemctl") {
		t.Errorf("a release with another checksum: %v\n%s", err, out)
	}
	sum, err := exec.Command("sh", "-c", "echo release | sha256sum").Output()
	if err != nil {
		t.Fatal(err)
	}
	out, err := run(strings.Fields(string(sum))[0])
	if err != nil || !strings.Contains(out, "systemctl restart --no-block rke2-server") || !strings.Contains(out, "phase: started rke2 v1.30.14+rke2r1") {
		t.Errorf("%v\n%s", err, out)
	}
}
