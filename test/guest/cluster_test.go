package guest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/need"
	"github.com/proxplane/proxplane/test/kit/tool"
)

// What a distribution puts behind the version of its programs: of the release that a cluster is made with, and of the next.
const (
	suffix     = "+rke2r1"
	nextSuffix = "+rke2r2"
)

// unit is the service of a node as a release of RKE2 brings it.
const unit = `[Unit]
Description=Stand-in for RKE2 (%[1]s)
Wants=network-online.target
After=network-online.target

[Install]
WantedBy=multi-user.target

[Service]
Type=notify
NotifyAccess=all
EnvironmentFile=-/etc/default/rke2-%[1]s
Delegate=yes
LimitNOFILE=1048576
TasksMax=infinity
TimeoutStartSec=0
Restart=always
RestartSec=5s
ExecStart=/usr/local/bin/rke2 %[1]s
`

// releaseOf builds a release of the stand-in for RKE2: laid out as RKE2's archive is, with the real programs of Kubernetes.
func releaseOf(t *testing.T, parts nodeParts, suffix string) release {
	t.Helper()
	ctx := t.Context()
	plane, err := controlplane.Programs(ctx)
	if err == nil {
		err = plane.Build(ctx, os.Stderr)
	}
	need.None(t, err)
	nodes, err := tool.OpenAs(ctx, "kubernetes", suffix)
	if err == nil {
		nodes = nodes.Only("kubelet")
		err = nodes.Build(ctx, os.Stderr)
	}
	need.None(t, err)
	files := map[string]string{}
	for name, dir := range map[string]string{"etcdutl": "etcdutl", "kube-vip": "../clients/kubevip"} {
		set, err := tool.Open(ctx, dir)
		if err == nil {
			err = set.Build(ctx, os.Stderr)
		}
		need.None(t, err)
		files["share/rke2/bin/"+name] = set.Path(name)
	}
	rke2 := filepath.Join(t.TempDir(), "rke2")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", rke2, "./rke2")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the stand-in: %v\n%s", err, out)
	}
	files["bin/rke2"] = rke2
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"} {
		files["share/rke2/bin/"+name] = plane.Path(name)
	}
	files["share/rke2/bin/kubelet"] = nodes.Path("kubelet")
	for _, name := range []string{"loopback", "bridge", "host-local"} {
		files["share/rke2/bin/"+name] = parts.cni.Path(name)
	}
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	a := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) { // a cluster that is kept knows the archive's checksum
		data, err := os.ReadFile(files[name])
		if err != nil {
			t.Fatal(err)
		}
		addFile(t, a, name, data)
	}
	for _, role := range []string{"server", "agent"} {
		addFile(t, a, "lib/systemd/system/rke2-"+role+".service", fmt.Appendf(nil, unit, role))
	}
	if err := errors.Join(a.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return release{"v" + nodes.Version + suffix, out.Bytes()}
}

const clusterFile = `
name: lab
provider: {type: proxmox, node: pve1, vip: 192.168.77.20, template: node, datastore: local, isoDatastore: local}
kubernetes: {version: %q, source: "https://releases.test/rke2", checksum: %s, env: {WORD: a-secret-word}}
nodes:
  controlPlane: {count: %d, cpu: 2, memory: 3072, disk: 20}
  workers: {count: %d, cpu: 2, memory: 2048, disk: 20}
`

// A cluster from one file, with real machines that boot our user-data, and the real programs of Kubernetes where RKE2 has
// them: a control plane, and workers that join it through the VIP with the token. Each thing that is done to it is a test of its
// own, so that what has passed is seen; after one that fails, the others are left out.
func TestAClusterFromOneFileWithRealParts(t *testing.T) {
	r := newRealCluster(t, 1, 1)
	defer r.end()
	r.stage(firstStage, func() {
		r.timed("init", "--config", r.file(), "--timeout", (2 * *patience).String())
		r.mirror.wasAsked(r.t, r.releases[suffix].at())
		r.hasReady(2)
	})
	r.stage("kubeconfig", func() { r.usesKubeconfig(r.timed("kubeconfig", "-c", "lab"), 2) })
	r.stage("validate", func() { r.validates(2) })
	r.stage("secrets", func() {
		// Each machine has of the others' secrets what it needs, and the notes have none.
		r.has(r.vm("lab-worker-0"), "cat /etc/proxplane/env; test ! -e /etc/proxplane/cluster.yaml", "WORD=a-secret-word")
		r.has(r.vm("lab-cp-0"), "stat -c %a /etc/proxplane/cluster.yaml /etc/rancher/rke2/config.yaml", "600\n600")
	})
	r.stage("backup", r.backsUp)
	r.stage("rotate", r.rotates)
	r.stage("upgrade", r.upgrades)
	r.stage("restore", r.restores)
	r.stage("replace", r.replaces)
	r.stage("scale", r.scales)
	r.stage("validate again", func() { r.validates(2) })
	r.stage("destroy", r.isDestroyed)
}

// inventory is what Proxmox has of machines and volumes.
func (l *lab) inventory() string {
	var lines []string
	l.sim.Do(func(st *pvesim.State) {
		for id, vm := range st.VMs {
			lines = append(lines, fmt.Sprintf("%d %s", id, vm.Name()))
		}
		for at, space := range st.Spaces {
			for _, v := range space.Volumes {
				lines = append(lines, at.Storage+":"+v.Name)
			}
		}
	})
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// usesKubeconfig asks the API server through the VIP, as somebody with the kubeconfig.
func (l *lab) usesKubeconfig(text string, n int) {
	l.t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(text))
	if err != nil {
		l.t.Fatal(err)
	}
	if config.Host != "https://192.168.77.20:6443" {
		l.t.Errorf("the kubeconfig is for %s", config.Host)
	}
	trust, err := rest.TLSConfigFor(config)
	if err != nil {
		l.t.Fatal(err)
	}
	nodes := corev1.NodeList{}
	l.eventually("an answer at the VIP", func(ctx context.Context) error {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust.Clone(), DisableKeepAlives: true, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return nil, err
			}
			return l.backend.Dial(ctx, l.sim.GuestNetwork(), to)
		}}}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/api/v1/nodes", nil)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err == nil && res.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", res.Status, body)
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &nodes)
	})
	if len(nodes.Items) != n {
		l.t.Errorf("there are %d nodes, want %d", len(nodes.Items), n)
	}
}
