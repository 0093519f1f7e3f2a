package cli

import (
	"context"
	"errors"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/proxplane/proxplane/machines"
)

// machinesFlags are what `proxplane operator` was told about MachineDeployments.
type machinesFlags struct{ machines.Options }

func (f *machinesFlags) add(fs *pflag.FlagSet) {
	fs.BoolVar(&f.Beside, "machines-beside", false, "machine-controller runs, too: look after Machines whose provider is proxmox only, and leave MachineDeployments and MachineSets to it")
	fs.DurationVar(&f.JoinTimeout, "join-cluster-timeout", machines.DefaultJoinTimeout, "`TIME` after which a machine of a MachineDeployment that hasn't become a node is replaced; 0: never")
	fs.DurationVar(&f.SkipEvictionAfter, "skip-eviction-after", machines.DefaultSkipEvictionAfter, "`TIME` for which the drain of a node is waited for when its Machine is deleted")
	fs.StringVar(&f.APIServer, "join-api-server", "", "`URL` by which machines reach Kubernetes (default: that of the ConfigMap kube-public/cluster-info, or the operator's own)")
	fs.StringSliceVar(&f.ClusterDNS, "cluster-dns", nil, "`ADDRESS` of the cluster's name server, for kubelets (default: that of the Service kube-system/kube-dns)")
}

// setUp adds the door for MachineDeployments to the operator's process.
func (f *machinesFlags) setUp(ctx context.Context, mgr manager.Manager, o machines.Options) error {
	o.Beside, o.JoinTimeout, o.SkipEvictionAfter, o.APIServer, o.ClusterDNS = f.Beside, f.JoinTimeout, f.SkipEvictionAfter, f.APIServer, f.ClusterDNS
	return machines.SetUp(ctx, mgr, o)
}

// check says what is wrong with the flags.
func (f *machinesFlags) check() error {
	if f.JoinTimeout < 0 || f.SkipEvictionAfter < 0 {
		return errors.New("--join-cluster-timeout and --skip-eviction-after: want a time such as 25m")
	}
	return nil
}

// machinesScheme adds the kinds of that door.
func machinesScheme(s *runtime.Scheme) error { return machines.Scheme(s) }

// machinesOptions are what the operator's process gives that door.
type machinesOptions = machines.Options
