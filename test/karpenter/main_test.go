// Package karpenter_test holds the stories of the Karpenter door: with a real kube-apiserver, etcd, kube-controller-manager
// and kube-scheduler, `proxplane operator` with this door in a process of its own, as the chart runs it and with no other
// rights, a simulated Proxmox a story, and machines that join as real ones do (test/kit/kubelet).
//
// All stories share one control plane and one Karpenter: each has a region, a NodePool and a class of its own.
package karpenter_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	_ "github.com/proxplane/proxplane/karpenter" // its kinds
	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/installed"
	"github.com/proxplane/proxplane/test/kit/itself"
)

var (
	plane *controlplane.Plane
	chart *installed.Chart
	kube  client.Client
	// shared are the controllers of all stories that don't kill them.
	shared *process
)

func TestMain(m *testing.M) {
	itself.Run()
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // stories wait more than they work
		panic(err)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	ctx := context.Background()
	programs, err := controlplane.Programs(ctx)
	if err == nil && !programs.Built() && os.Getenv("CI") == "" {
		fmt.Fprintln(os.Stderr, "SKIPPED: the Kubernetes to test with isn't built yet; make controlplane does it once, in some minutes")
		return 0
	}
	var dir string
	if err == nil {
		dir, err = os.MkdirTemp("", "proxplane-karpenter")
	}
	if err == nil {
		defer os.RemoveAll(dir)
		err = start(ctx, dir)
	}
	if plane != nil {
		defer plane.Stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return chart.Verdict(m.Run())
}

func start(ctx context.Context, dir string) (err error) {
	if plane, err = controlplane.Start(ctx, dir); err != nil {
		return err
	}
	if err := plane.StartControllers(ctx); err != nil {
		return err
	}
	if err := plane.StartScheduler(); err != nil {
		return err
	}
	for _, folder := range []string{"../../deploy/crds", "../../deploy/crds/karpenter"} {
		if err := plane.Define(ctx, folder); err != nil {
			return err
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", plane.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	if kube, err = client.New(config, client.Options{Scheme: scheme.Scheme}); err != nil {
		return err
	}
	chart, err = installed.Install(ctx, plane, dir, "karpenter.enabled=true", "karpenter.only=true", "karpenter.arguments={--batch-idle-duration=300ms,--batch-max-duration=3s}")
	return err
}
