package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/proxplane/proxplane/karpenter"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

// karpenterFlags are the flags of `proxplane operator` for Karpenter.
type karpenterFlags struct {
	karpenter.Config
	regions, vmids string
}

func (f *karpenterFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.regions, "karpenter-regions", "", "Secret, as `NAMESPACE/NAME` or NAMESPACE/NAME/KEY, with regions for Karpenter as karpenter-provider-proxmox has them, beside Providers")
	fs.StringVar(&f.vmids, "karpenter-vmids", "", "`FIRST-LAST`, the VMIDs of machines in regions of --karpenter-regions (default 10000-99999)")
	fs.StringVar(&f.InstanceTypes, "karpenter-instance-types", "", "`FILE` with instance types for Karpenter, in JSON (default: 1 to 16 CPUs with 2, 3, 4 and 8 GiB each)")
	fs.Float64Var(&f.CPUFactor, "karpenter-cpu-factor", 0, "count each CPU of Proxmox as `N` virtual CPUs (default 4)")
	fs.StringVar(&f.NodePolicy, "karpenter-node-policy", "", "`POLICY`: simple, or static to pin each of Karpenter's machines to CPUs of its Proxmox node, which takes root@pam's password (default simple)")
	fs.StringVar(&f.NodeSettings, "karpenter-node-settings", "", "`FILE` with reserved CPUs and memory and the NUMA nodes of Proxmox nodes, in JSON, as karpenter-provider-proxmox has it")
	fs.StringVar(&f.APIServer, "karpenter-api-server", "", "`URL` by which Karpenter's nodes reach Kubernetes (default: that of the ConfigMap kube-public/cluster-info, or the operator's own)")
	fs.StringArrayVar(&f.Arguments, "karpenter-argument", nil, "`ARGUMENT` for Karpenter itself, such as --batch-idle-duration=2s; can be repeated")
}

// check says what is wrong with the flags.
func (f *karpenterFlags) check() error {
	if p := f.NodePolicy; p != "" && p != karpenter.PolicySimple && p != karpenter.PolicyStatic {
		return fmt.Errorf("--karpenter-node-policy %s: want %s or %s", p, karpenter.PolicySimple, karpenter.PolicyStatic)
	}
	if f.vmids != "" {
		r, err := vmidRange(f.vmids)
		if err != nil {
			return err
		}
		f.Config.VMIDs = r
	}
	if f.regions == "" {
		return nil
	}
	parts := strings.Split(f.regions, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return fmt.Errorf("--karpenter-regions %s: want a Secret such as kube-system/karpenter-regions, or a key of one such as kube-system/karpenter-regions/config.yaml", f.regions)
	}
	f.Config.Regions = types.NamespacedName{Namespace: parts[0], Name: parts[1]}
	if len(parts) == 3 {
		f.RegionsKey = parts[2]
	}
	return nil
}

// vmidRange reads two VMIDs such as 20000-29999.
func vmidRange(text string) (model.Range, error) {
	first, last, _ := strings.Cut(text, "-")
	from, err := strconv.Atoi(first)
	to, also := strconv.Atoi(last)
	if errors.Join(err, also) != nil || from < spec.MinVMID || to > spec.MaxVMID || to < from {
		return model.Range{}, fmt.Errorf("--karpenter-vmids %s: want first and last from %d to %d, such as 20000-29999", text, spec.MinVMID, spec.MaxVMID)
	}
	return model.Range{First: from, Last: to}, nil
}

// setUp has Karpenter run while this replica works. It has a manager of its own, since its libraries want another cache.
func (f *karpenterFlags) setUp(mgr manager.Manager, cfg karpenter.Config) error {
	cfg.NodePolicy, cfg.NodeSettings = f.NodePolicy, f.NodeSettings
	cfg.RegionsKey, cfg.VMIDs = f.RegionsKey, f.VMIDs
	cfg.Regions, cfg.InstanceTypes, cfg.CPUFactor, cfg.APIServer, cfg.Arguments = f.Config.Regions, f.InstanceTypes, f.CPUFactor, f.APIServer, f.Arguments
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return karpenter.Run(ctx, cfg) }))
}

// karpenterConfig is what the operator's process gives Karpenter.
type karpenterConfig = karpenter.Config
