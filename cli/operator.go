package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/operator"
	"github.com/proxplane/proxplane/spec/suggest"
)

// operatorFlags are the flags of `proxplane operator`.
type operatorFlags struct {
	operator.Config
	operator.Election
	machinesFlags
	karpenter           karpenterFlags
	doors               []string
	kubeconfig, context string
	alone               bool
	format              string
}

func newOperator(u *ui.UI) *cobra.Command {
	f := &operatorFlags{}
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Run the Kubernetes operator",
		Long: `Run the Kubernetes operator. It reconciles Providers, VirtualMachines and
whatever belongs to them, as custom resources (deploy/crds), and with --doors
MachineDeployments of cluster.k8s.io whose provider is proxmox, or Karpenter with
nodes on Proxmox. It runs until it is interrupted. Several replicas elect a leader;
when it is gone, another one takes over.

Inside Kubernetes it finds its API by itself. Elsewhere KUBECONFIG or --kubeconfig
says where it is. LOG_LEVEL sets --log-level, too.`,
		Example: `  proxplane operator
  proxplane operator --kubeconfig ~/.kube/config --namespace lab --alone
  LOG_LEVEL=debug proxplane operator --log-format json`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, u) },
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.doors, "doors", []string{doorVM}, "`DOOR` to serve: vm, machines for MachineDeployments, or karpenter for nodes that come and go with the load; can be repeated")
	f.machinesFlags.add(fs)
	f.karpenter.add(fs)
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "`FILE` that says where Kubernetes is (default: KUBECONFIG, ~/.kube/config, or the pod's own)")
	fs.StringVar(&f.context, "context", "", "`NAME` of the context in the kubeconfig")
	fs.StringSliceVar(&f.Namespaces, "namespace", nil, "reconcile this `NAMESPACE` only; can be repeated (default: all)")
	fs.StringSliceVar(&f.SecretNamespaces, "secret-namespace", nil, "read Secrets in this `NAMESPACE` only; can be repeated (default: in all reconciled ones)")
	fs.StringVar(&f.Cluster, "cluster-name", "", "`NAME` of this Kubernetes, part of the owner of its machines, so it must not change (default: made from the UID of kube-system)")
	fs.BoolVar(&f.alone, "alone", false, "don't elect a leader: there is only one replica")
	fs.StringVar(&f.Namespace, "leader-namespace", "", "`NAMESPACE` of the Lease for the leader election (default: the pod's own, or the context's)")
	fs.DurationVar(&f.Lease, "lease-duration", 0, "`TIME` that other replicas wait for the leader to renew its lease (default 15s)")
	fs.DurationVar(&f.Renew, "renew-deadline", 0, "`TIME` for which the leader tries to renew its lease before it gives up (default 10s)")
	fs.DurationVar(&f.Retry, "retry-period", 0, "`TIME` between two tries to get or renew the lease (default 2s)")
	fs.StringVar(&f.Metrics, "metrics-address", ":8080", "`ADDRESS` for Prometheus; empty: none")
	fs.BoolVar(&f.MetricsSecure, "metrics-secure", false, "serve metrics by TLS, to those who may get /metrics in Kubernetes")
	fs.StringVar(&f.MetricsCertificate, "metrics-cert-dir", "", "`FOLDER` with tls.crt and tls.key for --metrics-secure (default: a certificate made at the start)")
	fs.StringVar(&f.Health, "health-address", ":8081", "`ADDRESS` for /healthz and /readyz; empty: none")
	fs.StringVar(&f.Profiler, "profiler-address", "", "`ADDRESS` for Go's profiler, such as 127.0.0.1:6060 (default: none)")
	fs.StringVar(&f.format, "log-format", "text", "`FORMAT` of the log: text or json")
	return cmd
}

func (f *operatorFlags) run(cmd *cobra.Command, u *ui.UI) error {
	if err := f.startLog(cmd, u); err != nil {
		return err
	}
	if err := f.chooseDoors(); err != nil {
		return err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
	var err error
	if f.Config.Kubernetes, err = loader.ClientConfig(); err != nil {
		return ui.Advise(fmt.Errorf("find Kubernetes: %w", err), "Set KUBECONFIG, or give --kubeconfig; inside Kubernetes, run it with a service account.")
	}
	f.Config.Kubernetes.QPS = -1 // the API server's priority and fairness limits it
	if !f.alone {
		if f.Namespace == "" {
			if f.Namespace, _, err = loader.Namespace(); err != nil {
				return fmt.Errorf("find the namespace for the Lease: %w", err)
			}
		}
		f.Config.Election = &f.Election
	}
	err = operator.Run(cmd.Context(), f.Config)
	if cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// startLog makes the logger. Its default level is more verbose than that of other
// commands, since there is no person in front of it.
func (f *operatorFlags) startLog(cmd *cobra.Command, u *ui.UI) error {
	word := cmp.Or(u.Getenv("LOG_LEVEL"), slog.LevelInfo.String())
	if cmd.Flags().Changed("log-level") {
		word = u.Log.Level
	}
	level, err := u.Log.Wanted(strings.ToLower(word))
	if err != nil {
		return err
	}
	options := &slog.HandlerOptions{Level: level}
	switch f.format {
	case "text":
		f.Config.Logger = slog.New(slog.NewTextHandler(u.Err, options))
	case "json":
		f.Config.Logger = slog.New(slog.NewJSONHandler(u.Err, options))
	default:
		return fmt.Errorf("--log-format %s: want text or json", f.format)
	}
	return nil
}

// Doors of the operator, as --doors names them.
const (
	doorVM        = "vm"
	doorMachines  = "machines"
	doorKarpenter = "karpenter"
)

// operatorDoors are all of them.
var operatorDoors = []string{doorVM, doorMachines, doorKarpenter}

// chooseDoors takes over which doors are to be served.
func (f *operatorFlags) chooseDoors() error {
	for _, name := range f.doors {
		if !slices.Contains(operatorDoors, name) {
			return fmt.Errorf("--doors: %s", suggest.OneOf(name, operatorDoors))
		}
	}
	if len(f.doors) == 0 {
		return fmt.Errorf("--doors: name one at least: %s", strings.Join(operatorDoors, ", "))
	}
	f.Without = !slices.Contains(f.doors, doorVM)
	if slices.Contains(f.doors, doorKarpenter) {
		if err := f.karpenter.check(); err != nil {
			return err
		}
		f.Doors = append(f.Doors, operator.Door{SetUp: func(_ context.Context, s operator.Shared) error {
			return f.karpenter.setUp(s.Manager, karpenterConfig{Kubernetes: s.Kubernetes, Cluster: s.Set, Sites: s.Sites, Registry: s.Registry, Proxmox: s.Proxmox, Logger: s.Logger})
		}})
	}
	if !slices.Contains(f.doors, doorMachines) {
		return nil
	}
	f.Doors = append(f.Doors, operator.Door{Scheme: machinesScheme, SetUp: func(ctx context.Context, s operator.Shared) error {
		return f.machinesFlags.setUp(ctx, s.Manager, machinesOptions{Namespaces: s.Namespaces, Kubernetes: s.Kubernetes, Set: s.Set, Sites: s.Sites, Registry: s.Registry, Proxmox: s.Proxmox, Logger: s.Logger})
	}})
	return f.machinesFlags.check()
}
