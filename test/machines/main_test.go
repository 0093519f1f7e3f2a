// Package machines_test holds the stories of MachineDeployments: with a real Kubernetes, a simulated
// Proxmox whose machines join it as nodes, and the operator as a process of its own, with the rights that the chart gives it.
package machines_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"testing"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/installed"
	"github.com/proxplane/proxplane/test/kit/itself"
)

// kube is an administrator of the Kubernetes, and kubeconfig is where that is.
var (
	plane      *controlplane.Plane
	kube       client.Client
	kubeconfig string
	chart      *installed.Chart
)

func TestMain(m *testing.M) {
	itself.Run()
	flag.Parse()
	os.Exit(controlplane.Suite(prepare, func() int { return chart.Verdict(m.Run()) }))
}

func prepare(ctx context.Context, p *controlplane.Plane, dir string) error {
	err := errors.Join(p.StartControllers(ctx), p.StartScheduler(), p.Define(ctx, "../../deploy/crds/machines"))
	if err == nil {
		plane, kubeconfig = p, p.Kubeconfig
		err = connect()
	}
	if err == nil {
		chart, err = installed.Install(ctx, p, dir, "machines.enabled=true", "machines.only=true")
	}
	return err
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
