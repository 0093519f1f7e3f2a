package guest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/child"
	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/image"
	"github.com/proxplane/proxplane/test/kit/need"
	"github.com/proxplane/proxplane/test/kit/tool"
)

var withNodes = flag.Bool("nodes", false, "boot nodes of Kubernetes too: a real kubelet with Debian's containerd, which takes many minutes")

// nodeParts is what nodes are made of.
type nodeParts struct {
	disk string
	cni  *tool.Set
}

var buildNode = sync.OnceValues(func() (p nodeParts, err error) {
	ctx := context.Background()
	if p.cni, err = tool.Open(ctx, "cni"); err == nil {
		err = p.cni.Build(ctx, os.Stderr)
	}
	if err != nil {
		return p, err
	}
	_, _, ca := authority()
	p.disk, err = image.Node(ctx, ca, hosts(), os.Stderr)
	return p, err
})

// tokenSecret is that of the token by which doors log in.
const tokenSecret = "11111111-2222-4333-8444-555555555555"

// nodeWorld is a cluster with a template that can be a node.
func nodeWorld(t *testing.T) (*pvesim.World, nodeParts) {
	t.Helper()
	if !*withNodes {
		t.Skip("boots nodes of Kubernetes: make test-guest-nodes")
	}
	w := tinyWorld(t)
	parts, err := buildNode()
	need.None(t, err)
	boot := w.Kernels["tiny"]
	boot.Append = quiet + " systemd.show_status=0 tiny.root=/dev/sda1"
	w.Kernels["node"] = boot
	addTemplate(w, 9020, "node", parts.disk, "3G")
	w.Users[0].Tokens = []pvesim.WorldToken{{Name: "doors", Secret: tokenSecret}}
	return w, parts
}

// kubernetes is a control plane on this host that guests join.
type kubernetes struct {
	*controlplane.Plane
	l       *lab
	m       *mirror
	release *tool.Set // that guests install
}

// newKubernetes starts one, with a mirror that has what nodes fetch: programs of a release of Kubernetes, and plugins.
func newKubernetes(l *lab, parts nodeParts, programs ...string) *kubernetes {
	t := l.t
	t.Helper()
	release, err := tool.Open(t.Context(), "kubernetes")
	if err == nil {
		release = release.Only(programs...)
		err = release.Build(t.Context(), os.Stderr)
	}
	need.None(t, err)
	plane, err := controlplane.Start(t.Context(), l.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	if err := errors.Join(plane.StartControllers(t.Context()), plane.StartScheduler()); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(plane.URL)
	if err != nil {
		t.Fatal(err)
	}
	k := &kubernetes{Plane: plane, l: l, m: newMirror(t), release: release}
	l.offer(map[uint16]string{443: k.m.address, 6443: at.Host})
	for _, name := range programs {
		program, err := os.ReadFile(release.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		k.m.put(k.releases(name), program, k.releases(name)+".sha256")
	}
	k.m.put(pluginsAt(parts), archived(t, map[string]string{
		"./loopback": parts.cni.Path("loopback"), "./bridge": parts.cni.Path("bridge"), "./host-local": parts.cni.Path("host-local"),
	}), pluginsAt(parts)+".sha256")
	return k
}

// releases is where a release of Kubernetes has a program.
func (k *kubernetes) releases(program string) string {
	return "dl.k8s.io/release/v" + k.release.Version + "/bin/linux/amd64/" + program
}

// pluginsAt is where a release of CNI's plugins is.
func pluginsAt(p nodeParts) string {
	return fmt.Sprintf("github.com/containernetworking/plugins/releases/download/v%[1]s/cni-plugins-linux-amd64-v%[1]s.tgz", p.cni.Version)
}

// apiForGuests is where guests find the API server.
const apiForGuests = "https://" + controlplane.GuestAddress + ":6443"

// kubectl does something as an administrator.
func (k *kubernetes) kubectl(input string, args ...string) (string, error) {
	cmd := k.Kubectl(k.l.t.Context(), args...)
	cmd.Stdin = strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), nil
}

// apply applies manifests.
func (k *kubernetes) apply(manifests string) {
	k.l.t.Helper()
	if _, err := k.kubectl(manifests, "apply", "--server-side", "-f", "-"); err != nil {
		k.l.t.Fatalf("%v\n%s", err, manifests)
	}
}

// operate runs proxplane as the operator.
func (k *kubernetes) operate(args ...string) {
	t := k.l.t
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(k.l.dir, "operator.log")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"operator", "--alone", "--metrics-address=", "--health-address="}, args...)...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "KUBECONFIG="+k.Kubeconfig)
	cmd.Stdout, cmd.Stderr = out, out
	if err := child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("operator:\n%s", text[max(0, len(text)-6000):])
		}
	})
}

// starts waits until there is an object of a kind that has a machine of its name, and that machine runs. It returns the name.
func (k *kubernetes) starts(kind string) (name string) {
	k.l.t.Helper()
	k.l.eventually("a machine", func(context.Context) (err error) {
		if name, err = k.kubectl("", "get", kind, "-o", "jsonpath={.items[0].metadata.name}"); err != nil {
			return err
		}
		k.l.sim.Do(func(st *pvesim.State) {
			err = errors.New("there is none")
			for _, vm := range st.VMs {
				if vm.Name() == name && vm.Run != nil {
					err = nil
				}
			}
		})
		return err
	})
	return name
}

// hasCertificates waits until the kubelet of a guest has those that were approved: for the API server, and for those who ask the kubelet.
func (k *kubernetes) hasCertificates(name string) {
	k.l.t.Helper()
	k.l.eventually("certificates", func(ctx context.Context) error {
		got, err := k.l.exec(ctx, k.l.vm(name), "ls /var/lib/kubelet/pki")
		if err == nil && (!strings.Contains(got.Out, "kubelet-client-current.pem") || !strings.Contains(got.Out, "kubelet-server-current.pem")) {
			err = fmt.Errorf("there are %s", got.Out)
		}
		return err
	})
}

// hasNoTokens waits until no bootstrap token is left.
func (k *kubernetes) hasNoTokens() {
	k.l.t.Helper()
	k.l.eventually("no token is left", func(context.Context) error {
		out, err := k.kubectl("", "get", "secrets", "-n", "kube-system", "--field-selector", "type=bootstrap.kubernetes.io/token", "-o", "name")
		if err == nil && out != "" {
			err = errors.New(out)
		}
		return err
	})
}

// network is what a network plugin leaves on a node, which here nobody installs.
const network = `{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true,
"ipam": {"type": "host-local", "ranges": [[{"subnet": "10.85.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}`

// joins waits until a guest is a node, gives it a network, and waits until it is ready. It tells how long each took.
func (k *kubernetes) joins(name string, began time.Time) {
	l := k.l
	l.t.Helper()
	took := func(what string) { l.t.Logf("%s: %s after %s", name, what, time.Since(began).Round(time.Second)) }
	l.eventually("the agent", func(ctx context.Context) error { _, err := l.exec(ctx, l.vm(name), "true"); return err })
	took("its agent answers")
	l.cloudInitIsDone(name)
	took("cloud-init is done")
	l.eventually("the node", func(context.Context) error { _, err := k.kubectl("", "get", "node", name); return err })
	took("it is a node")
	l.sh(l.vm(name), "cat >/etc/cni/net.d/10-pods.conflist <<'EOF'\n"+network+"\nEOF")
	l.eventually("ready", func(context.Context) error {
		out, err := k.kubectl("", "get", "node", name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].message}`)
		if err == nil && !strings.HasPrefix(out, "True") {
			err = errors.New(out)
		}
		return err
	})
	took("it is ready")
}

func TestARealKubeletJoinsByOurUserData(t *testing.T) {
	w, parts := nodeWorld(t)
	l := newLab(t, w)
	k := newKubernetes(l, parts, "kubelet")
	if err := k.Define(t.Context(), "../../deploy/crds/machines"); err != nil {
		t.Fatal(err)
	}
	k.operate("--doors", "machines", "--join-api-server", apiForGuests, "--cluster-dns", "10.0.0.10", "--join-cluster-timeout", "0")
	began := time.Now()
	k.apply(fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: proxmox, namespace: default}
stringData: {token: %s}
---
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDeployment
metadata: {name: workers, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {pool: workers}}
  template:
    metadata: {labels: {pool: workers}}
    spec:
      metadata: {labels: {pool: workers}}
      taints: [{key: dedicated, value: workers, effect: NoSchedule}]
      versions: {kubelet: %s}
      providerSpec:
        value:
          cloudProvider: proxmox
          cloudProviderSpec:
            endpoint: %s
            fingerprints: [%q]
            userID: root@pam!doors
            token: {secretKeyRef: {namespace: default, name: proxmox, key: token}}
            template: node
            cpuSockets: 1
            cpuCores: 2
            memoryMB: 1536
            diskSizeGB: 4
            ciStorageName: local
            networks: [{bridge: vmbr0}]
          operatingSystem: debian
`, tokenSecret, k.release.Version, l.endpoint, l.print))
	name := k.starts("machines")
	k.joins(name, began)
	k.m.wasAsked(t, k.releases("kubelet"))
	k.m.wasAsked(t, pluginsAt(parts))

	// It is the node that the Machine says.
	out, err := k.kubectl("", "get", "node", name, "-o", `jsonpath={.status.nodeInfo.kubeletVersion} {.status.nodeInfo.osImage} {.metadata.labels.pool} {.spec.taints[?(@.key=="dedicated")].value}`)
	if err != nil || !strings.HasPrefix(out, "v"+k.release.Version+" Debian GNU/Linux") || !strings.HasSuffix(out, " workers workers") {
		t.Errorf("the node is %q, %v", out, err)
	}
	l.eventually("the MachineDeployment", func(context.Context) error {
		out, err := k.kubectl("", "get", "machinedeployment", "workers", "-o", "jsonpath={.status.readyReplicas}")
		if err == nil && out != "1" {
			err = fmt.Errorf("%q are ready", out)
		}
		return err
	})
	k.hasCertificates(name)
	k.hasNoTokens()
}
