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
	"os"
	"testing"

	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/itself"
)

var plane *controlplane.Plane

func TestMain(m *testing.M) {
	itself.Run()
	flag.Parse()
	// Stories wait more than they work.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(controlplane.Suite(prepare, m.Run))
}

func prepare(ctx context.Context, p *controlplane.Plane, _ string) error {
	plane = p
	return p.Define(ctx, "../../deploy/crds")
}
