// Package machines_test holds the stories of MachineDeployments: with a real Kubernetes, a simulated
// Proxmox whose machines join it as nodes, and the operator as a process of its own, with the rights that the chart gives it.
package machines_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/cli"
	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/installed"
)

// asProxplane has the test's own binary be proxplane.
const asProxplane = "PROXPLANE_TEST_IS_PROXPLANE"

// kube is an administrator of the Kubernetes, and kubeconfig is where that is.
var (
	kube       client.Client
	kubeconfig string
	chart      *installed.Chart
)

func TestMain(m *testing.M) {
	if os.Getenv(asProxplane) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop)
		os.Exit(cli.Run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx := context.Background()
	programs, err := controlplane.Programs(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if !programs.Built() && os.Getenv("CI") == "" {
		fmt.Fprintln(os.Stderr, "SKIPPED: the Kubernetes to test with isn't built yet; make controlplane does it once, in some minutes")
		return 0
	}
	dir, err := os.MkdirTemp("", "proxplane-machines")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	plane, err := controlplane.Start(ctx, dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer plane.Stop()
	err = errors.Join(plane.StartControllers(ctx), plane.StartScheduler(), plane.Define(ctx, "../../deploy/crds/machines"))
	if err == nil {
		kubeconfig = plane.Kubeconfig
		err = connect()
	}
	if err == nil {
		chart, err = installed.Install(ctx, plane, dir, "machines.enabled=true", "machines.only=true")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return chart.Verdict(m.Run())
}

func connect() error {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	cfg.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	kube, err = client.New(cfg, client.Options{Scheme: scheme})
	return err
}
