// Package join_test holds the stories of machines that become nodes, whichever door has made
// them: with a real kube-apiserver, etcd, kube-controller-manager and kube-scheduler, simulated machines
// that do the real TLS bootstrap, and the tokens and approvals of kube/join. All stories share one control plane.
package join_test

import (
	"context"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/kube/join"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/sim"
)

var (
	plane  *controlplane.Plane
	config *rest.Config
	c      client.Client
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(controlplane.Suite(begin, m.Run))
}

func begin(ctx context.Context, p *controlplane.Plane, _ string) (err error) {
	plane = p
	if err := plane.StartControllers(ctx); err != nil {
		return err
	}
	if err := plane.StartScheduler(); err != nil {
		return err
	}
	if config, err = clientcmd.BuildConfigFromFlags("", plane.Kubeconfig); err != nil {
		return err
	}
	config.QPS = -1
	c, err = client.New(config, client.Options{Scheme: kube.Scheme()})
	return err
}

// door is one that has machines: those of a simulated Proxmox, by name. The name is the ID, too.
type door struct {
	name string
	pve  *sim.Server
}

// ByNode finds a machine.
func (d door) ByNode(_ context.Context, node string) (*join.Machine, error) {
	vmid := 0
	d.pve.Do(func(st *pvesim.State) {
		if vm := sim.VM(st, node); vm != nil && vm.Conf["template"] == "" {
			vmid = vm.ID
		}
	})
	if vmid == 0 {
		return nil, nil
	}
	m := d.machine(node)
	for _, p := range d.pve.Addresses(vmid) {
		m.Addresses = append(m.Addresses, p.Addr())
	}
	return &m, nil
}

func (d door) machine(name string) join.Machine {
	return join.Machine{ID: d.name + "/" + name, Node: name, Addresses: []netip.Addr{}}
}

// Exists reports whether there is a machine.
func (d door) Exists(ctx context.Context, id string) (bool, error) {
	m, err := d.ByNode(ctx, id[len(d.name)+1:])
	return m != nil, err
}

func (d door) tokens() *join.Tokens { return &join.Tokens{Client: c, Door: d.name, Signs: true} }

// approve has the machines of a door get their certificates until the story ends.
func (d door) approve(t *testing.T) {
	t.Helper()
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: kube.Scheme(), Metrics: server.Options{BindAddress: "0"}})
	if err == nil {
		err = join.Setup(mgr, d.tokens(), d)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// await waits until something is so; what says what isn't.
func await(t *testing.T, what func() string) {
	t.Helper()
	const patience = 3 * time.Minute
	for end := time.Now().Add(patience); ; {
		left := what()
		if left == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s\n%s", left, plane.Log("kube-controller-manager"))
		}
		select {
		case <-t.Context().Done():
			t.Fatal(left)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
