// Package operator_test holds the stories of the operator: with a real
// kube-apiserver, etcd and kubectl, a simulated Proxmox, and the operator as a
// process of its own.
//
// Each story has a namespace, a Proxmox and operators of its own, and all share one
// control plane. It is built once from Go modules (make controlplane).
package operator_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/proxplane/proxplane/cli"
	"github.com/proxplane/proxplane/test/kit/controlplane"
)

// asProxplane has the test's own binary be proxplane.
const asProxplane = "PROXPLANE_TEST_IS_PROXPLANE"

var plane *controlplane.Plane

func TestMain(m *testing.M) {
	if os.Getenv(asProxplane) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop)
		os.Exit(cli.Run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	flag.Parse()
	// Stories wait more than they work.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
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
	dir, err := os.MkdirTemp("", "proxplane-operator")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if plane, err = controlplane.Start(ctx, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer plane.Stop()
	if err := plane.Define(ctx, "../../deploy/crds"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
