package outside_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/need"
	"github.com/proxplane/proxplane/test/kit/outside"
)

// kubernetes is a lab with a Kubernetes in which replicas of the operator work.
type kubernetes struct {
	*lab
	plane *controlplane.Plane
	flags []string // of the operator

	mu       sync.Mutex
	replicas []*outside.Process // all that were ever started
	keeping  sync.WaitGroup
}

// The one whose objects they are.
const (
	theirCluster = "home"
	namespace    = "default"
)

// newKubernetes makes one. Nobody works in it yet.
func newKubernetes(l *lab, flags ...string) *kubernetes {
	l.t.Helper()
	programs, err := controlplane.Programs(l.ctx)
	l.must(err)
	if !programs.Built() {
		need.None(l.t, errors.New("the Kubernetes to test with isn't built yet; make controlplane does it once, in some minutes"))
	}
	plane, err := controlplane.Start(l.ctx, l.t.TempDir())
	l.must(err)
	l.t.Cleanup(plane.Stop)
	l.must(plane.Define(l.ctx, "../../deploy/crds"))
	return &kubernetes{lab: l, plane: plane, flags: flags}
}

// replicate keeps so many replicas running: as a kubelet does, it starts one again
// that has ended. It ends with the test.
func (k *kubernetes) replicate(n int) {
	k.t.Helper()
	ctx, stop := context.WithCancel(k.ctx)
	for range n {
		k.keeping.Go(func() {
			for ctx.Err() == nil {
				p, err := outside.Start(ctx, k.operator())
				if err != nil {
					k.t.Error(err)
					return
				}
				k.mu.Lock()
				k.replicas = append(k.replicas, p)
				k.mu.Unlock()
				<-p.Ended()
				select {
				case <-time.After(askAgain):
				case <-ctx.Done():
				}
			}
		})
	}
	k.t.Cleanup(func() {
		stop()
		k.keeping.Wait()
		for i, p := range k.replicas {
			if k.t.Failed() {
				k.t.Logf("replica %d:\n%s", i+1, p.Wait().Stderr)
			}
		}
	})
}

func (k *kubernetes) operator() outside.Command {
	return outside.Command{
		Program: outside.Program("proxplane"),
		Args: append([]string{
			"operator", "--namespace", namespace, "--leader-namespace", namespace, "--cluster-name", theirCluster, "--metrics-address", "", "--health-address", "",
			"--lease-duration", "4s", "--renew-deadline", "3s", "--retry-period", "500ms",
		}, k.flags...),
		Env: []string{"KUBECONFIG=" + k.plane.Kubeconfig, "HOME=" + k.home, "TMPDIR=" + k.tmp}, Dir: k.folder,
	}
}

// leader waits until a replica works, and returns it.
func (k *kubernetes) leader() (works *outside.Process) {
	k.t.Helper()
	k.nowAndThen("somebody leads", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, p := range k.replicas {
			select {
			case <-p.Ended():
			default:
				if strings.Contains(p.Said(), "this replica works now") {
					works = p
				}
			}
		}
		return works != nil
	})
	return works
}

// askAgain is the pause between two looks.
const askAgain = 200 * time.Millisecond

// nowAndThen asks whether something is so.
func (k *kubernetes) nowAndThen(what string, so func() bool) {
	k.t.Helper()
	for !so() {
		select {
		case <-time.After(askAgain):
		case <-k.ctx.Done():
			k.t.Fatalf("it never happens that %s", what)
		}
	}
}

// kubectl runs it, again and again while the API server is away, as people do.
func (k *kubernetes) kubectl(input string, args ...string) string {
	k.t.Helper()
	var out []byte
	var said bytes.Buffer
	for {
		cmd := k.plane.Kubectl(k.ctx, args...)
		said.Reset()
		cmd.Stdin, cmd.Stderr = strings.NewReader(input), &said
		var err error
		if out, err = cmd.Output(); err == nil {
			return string(out)
		}
		select {
		case <-time.After(askAgain):
		case <-k.ctx.Done():
			k.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, said.String())
		}
	}
}

// provide tells the operator where the Proxmox is and how to log in.
func (k *kubernetes) provide(login string) {
	k.t.Helper()
	k.kubectl(fmt.Sprintf(`apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: proxmox}
spec: {type: proxmox, endpoint: %q, fingerprint: %q, credentialSecretRef: {name: login}}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: %s
`, k.sim.URL, k.sim.Fingerprint, login), "apply", "-f", "-")
}

// machines are the objects, with what they say of themselves.
func (k *kubernetes) machines() []api.VirtualMachine {
	k.t.Helper()
	var list api.VirtualMachineList
	k.must(json.Unmarshal([]byte(k.kubectl("", "get", "virtualmachines", "-o", "json")), &list))
	return list.Items
}
