// Package controlplane starts a real Kubernetes for tests: kube-apiserver and etcd,
// built from their Go modules, with kubectl beside them. There are no nodes and no
// controllers, so nothing runs and nobody collects garbage; but what is stored,
// checked, defaulted, watched and shown is as in any cluster.
//
// [Plane.StartControllers] and [Plane.StartScheduler] start kube-controller-manager and
// kube-scheduler beside them, for tests with nodes: test/kit/kubelet.
package controlplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/proxplane/proxplane/test/kit/tool"
)

// Plane is a control plane that runs.
type Plane struct {
	URL        string // of the API server
	Kubeconfig string // file for an administrator

	dir  string
	set  *tool.Set
	etcd *process
	api  *process
	more []*process // controllers and scheduler
	port int
	keep string // the URL of etcd
	peer string // its other one
}

// Programs are the programs, built or not.
func Programs(ctx context.Context) (*tool.Set, error) {
	here, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/proxplane/proxplane/test/kit/controlplane").Output()
	if err != nil {
		return nil, fmt.Errorf("find the folder that says which Kubernetes: %w", err)
	}
	return tool.Open(ctx, filepath.Join(strings.TrimSpace(string(here)), "kubernetes"))
}

// patience is how long something may take to come up.
const patience = 2 * time.Minute

// Start starts a control plane that keeps all its files in a folder. It runs until
// Stop.
func Start(ctx context.Context, dir string) (*Plane, error) {
	set, err := Programs(ctx)
	if err != nil {
		return nil, err
	}
	if err := set.Build(ctx, os.Stderr); err != nil {
		return nil, err
	}
	const tries = 3
	for n := range tries {
		p := &Plane{dir: filepath.Join(dir, fmt.Sprintf("plane-%d", n)), set: set}
		p.Kubeconfig = p.file("admin.kubeconfig")
		if err = p.start(ctx); err == nil {
			return p, nil
		}
		p.Stop() // somebody else may have got one of its ports
	}
	return nil, fmt.Errorf("start a control plane: %w", err)
}

func (p *Plane) start(ctx context.Context) error {
	ports, err := FreePorts(3)
	if err == nil {
		err = os.MkdirAll(p.dir, 0o700)
	}
	if err != nil {
		return err
	}
	p.port = ports[2]
	p.keep = fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	p.peer = fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	p.URL = fmt.Sprintf("https://127.0.0.1:%d", p.port)
	if err := p.StartEtcd(); err != nil {
		return err
	}
	if err := p.credentials(); err != nil {
		return err
	}
	return p.StartAPI(ctx)
}

// StartEtcd starts etcd, after KillEtcd with what it has kept. Whoever needs it
// waits for it.
func (p *Plane) StartEtcd() (err error) {
	p.etcd, err = start(p.dir, p.set.Path("etcd"), "--data-dir", filepath.Join(p.dir, "etcd"), "--unsafe-no-fsync", "--logger=zap", "--log-level=warn",
		"--listen-client-urls", p.keep, "--advertise-client-urls", p.keep, "--listen-peer-urls", p.peer,
		"--initial-advertise-peer-urls", p.peer, "--initial-cluster", "default="+p.peer)
	return err
}

// token is the administrator's.
const token = "administrator-of-a-test"

func (p *Plane) credentials() error {
	return errors.Join(
		p.certificates(),
		os.WriteFile(p.file("audit.yaml"), []byte(auditPolicy), 0o600),
		os.WriteFile(p.file("tokens.csv"), []byte(token+`,admin,admin,"system:masters"`+"\n"), 0o600),
	)
}

func (p *Plane) file(name string) string { return filepath.Join(p.dir, name) }

// StartAPI starts the API server, after StopAPI on the same port, and waits until
// it is ready.
func (p *Plane) StartAPI(ctx context.Context) (err error) {
	p.api, err = start(p.dir, p.set.Path("kube-apiserver"),
		"--etcd-servers", p.keep, "--bind-address=127.0.0.1", "--secure-port", fmt.Sprint(p.port), "--cert-dir", p.dir,
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file", p.file("sa.key"), "--service-account-signing-key-file", p.file("sa.key"),
		"--service-cluster-ip-range=10.0.0.0/24", "--token-auth-file", p.file("tokens.csv"), "--authorization-mode=Node,RBAC",
		"--tls-cert-file", p.file("apiserver.crt"), "--tls-private-key-file", p.file("apiserver.key"), "--client-ca-file", p.file("ca.crt"), "--enable-bootstrap-token-auth",
		"--audit-policy-file", p.file("audit.yaml"), "--audit-log-path", p.file("audit.log"),
		"--endpoint-reconciler-type=none", "--disable-admission-plugins=ServiceAccount", "--watch-cache=true", "--v=0")
	if err != nil {
		return err
	}
	if err := p.Ready(ctx); err != nil {
		return errors.Join(err, errors.New(p.api.lastWords()))
	}
	return p.writeKubeconfig()
}

// StopAPI stops the API server; what it has stored stays.
func (p *Plane) StopAPI() { p.api.stop() }

// KillAPI ends the API server in the middle of whatever it does.
func (p *Plane) KillAPI() { p.api.kill() }

// KillEtcd does the same to etcd.
func (p *Plane) KillEtcd() { p.etcd.kill() }

// Stop stops everything.
func (p *Plane) Stop() {
	for _, m := range p.more {
		m.kill() // they keep nothing, and take their time
	}
	p.api.stop() // before what it depends on
	p.etcd.stop()
}

// Ready waits until the API server is ready.
func (p *Plane) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/readyz", nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		if res, err := client.Do(req); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-p.api.ended:
			return errors.New("the API server has ended")
		case <-ctx.Done():
			return errors.New("the API server doesn't get ready")
		}
	}
}

func (p *Plane) writeKubeconfig() error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
clusters:
  - name: test
    cluster: {server: %q, certificate-authority: %q}
users:
  - name: admin
    user: {token: %s}
contexts:
  - name: test
    context: {cluster: test, user: admin}
`, p.URL, p.file("ca.crt"), token)
	return os.WriteFile(p.Kubeconfig, []byte(text), 0o600)
}

// Kubectl is a command of kubectl, as an administrator.
func (p *Plane) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.set.Path("kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Kubeconfig, "HOME="+p.dir)
	return cmd
}

// Define makes the API server know the kinds that a folder of CRDs defines.
func (p *Plane) Define(ctx context.Context, folder string) error {
	for _, args := range [][]string{{"apply", "-f", folder}, {"wait", "--for=condition=Established", "crd", "--all", "--timeout", patience.String()}} {
		if out, err := p.Kubectl(ctx, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl %s: %w\n%s", args[0], err, out)
		}
	}
	return os.RemoveAll(p.file(".kube")) // what kubectl remembers is from before
}

// Ports that the kernel gives nobody who asks for any: a connection of somebody else,
// or our own to a server that is about to come back, would take one from under us.
const (
	firstPort = 10000
	lastPort  = 32767
)

// FreePorts are some that nobody listens on.
func FreePorts(n int) ([]int, error) {
	var ports []int
	for range lastPort - firstPort {
		if len(ports) == n {
			return ports, nil
		}
		port := firstPort + mathrand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue // somebody has it
		}
		defer l.Close()
		ports = append(ports, port)
	}
	return nil, errors.New("there are no free ports")
}
