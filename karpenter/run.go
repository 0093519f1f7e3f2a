package karpenter

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/controllers"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeoverlay"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/options"

	infra "github.com/proxplane/proxplane/api/infra/v1beta1"
	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/kube/join"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

// Karpenter's libraries go by the scheme of client-go.
func init() {
	if err := errors.Join(api.AddToScheme(scheme.Scheme), infra.AddToScheme(scheme.Scheme)); err != nil {
		panic(err) // two types of the same name
	}
}

// Config is the configuration of the door.
type Config struct {
	Kubernetes *rest.Config
	// Cluster is the name of this Kubernetes among those that share a Proxmox; empty: one that is made from the
	// UID of the namespace kube-system.
	Cluster string
	// Sites are shared with other doors of the process; nil: this door's own.
	Sites  *site.Sites
	Logger *slog.Logger

	// Regions is a Secret with the original's configuration, beside Providers; empty: there is none.
	Regions types.NamespacedName
	// RegionsKey is the key of the Secret; empty: config.yaml, or another one that ends in .yaml.
	RegionsKey string
	// VMIDs are those of machines in the regions of the Secret; zero: model.DefaultRange.
	VMIDs model.Range
	// InstanceTypes is a file with instance types; empty: a grid of them.
	InstanceTypes string
	// CPUFactor is how many virtual CPUs a CPU of Proxmox stands for; 0: 4.
	CPUFactor float64
	// NodePolicy is PolicySimple or PolicyStatic; empty: the former.
	NodePolicy string
	// NodeSettings is a file with settings of Proxmox nodes; empty: there are none.
	NodeSettings string
	// APIServer is the URL by which machines reach Kubernetes; empty: that of kube-public/cluster-info, or the one
	// that this process uses.
	APIServer string
	// Arguments are for Karpenter itself, such as --batch-idle-duration=2s.
	Arguments []string

	// Registry gets the metrics; nil: that of controller-runtime.
	Registry prometheus.Registerer
	// Proxmox is the transport of requests to Proxmox; nil: the network.
	Proxmox http.RoundTripper
}

// Run works until ctx ends. The caller elects the leader, and serves metrics and health checks.
//
// Karpenter has a manager of its own: its libraries need the scheme of client-go, a context with their options, indexes, and a cache
// with the objects of all namespaces, where the operator may be limited to some. It runs in the elected replica only.
func Run(ctx context.Context, cfg Config) error {
	opts, err := cfg.options()
	if err != nil {
		return err
	}
	logger := logr.FromSlogHandler(cfg.Logger.Handler()).V(1)
	ctx = log.IntoContext(opts.ToContext(ctx), logger)
	if err := define(ctx, cfg.Kubernetes); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(cfg.Kubernetes, managerOptions(ctx, logger))
	if err != nil {
		return fmt.Errorf("connect to Kubernetes: %w", err)
	}
	set := cfg.Cluster
	if set == "" {
		if set, err = kube.Name(ctx, mgr.GetAPIReader()); err != nil {
			return err
		}
	}
	if cfg.Sites == nil {
		cfg.Sites = new(site.Sites)
	}
	p, err := cfg.provider(ctx, mgr, set)
	if err != nil {
		return err
	}
	if err := setUp(mgr, p, cfg); err != nil {
		return err
	}
	if err := runKarpenter(ctx, mgr, p); err != nil {
		return err
	}
	cfg.Logger.Info("starting Karpenter", "cluster", set)
	defer p.regions.close()
	return mgr.Start(ctx)
}

// options are Karpenter's own, with what its environment variables say.
func (cfg Config) options() (*options.Options, error) {
	opts := &options.Options{}
	fs := &options.FlagSet{FlagSet: flag.NewFlagSet("karpenter", flag.ContinueOnError)}
	opts.AddFlags(fs)
	opts.LogLevel = "info" // ours is said otherwise
	if err := opts.Parse(fs, cfg.Arguments...); err != nil {
		return nil, fmt.Errorf("arguments for Karpenter: %w", err)
	}
	const repair = "NodeRepair"
	if !strings.Contains(strings.Join(append(cfg.Arguments, os.Getenv("FEATURE_GATES")), " "), repair) {
		opts.FeatureGates.NodeRepair = true // a Proxmox node that is lost takes nodes with it, and nobody else replaces them
	}
	return opts, nil
}

func managerOptions(ctx context.Context, logger logr.Logger) manager.Options {
	skip := true // several of them may run in one process, in tests
	return manager.Options{
		Scheme: scheme.Scheme, Logger: logger, HealthProbeBindAddress: "0", Metrics: metricsserver.Options{BindAddress: "0"},
		BaseContext: func() context.Context { return context.WithoutCancel(ctx) },
		Controller:  config.Controller{SkipNameValidation: &skip},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&coordinationv1.Lease{}: {Field: fields.SelectorFromSet(fields.Set{"metadata.namespace": "kube-node-lease"})},
		}},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: uncached}},
	}
}

// provider puts together what Karpenter calls.
func (cfg Config) provider(ctx context.Context, mgr manager.Manager, set string) (*CloudProvider, error) {
	var sizes []Size
	if cfg.InstanceTypes != "" {
		var err error
		if sizes, err = ReadSizes(cfg.InstanceTypes); err != nil {
			return nil, err
		}
	}
	direct, err := client.New(cfg.Kubernetes, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	regions := newRegions(cfg.Sites, set, cfg.Proxmox, cfg.Logger)
	p := newCloudProvider(mgr.GetClient(), mgr.GetAPIReader(), regions, set, sizes, cfg.CPUFactor, &join.Tokens{Client: direct, Door: Door, Signs: true})
	regions.observe = p.metrics.exchange
	switch p.static = cfg.NodePolicy == PolicyStatic; cfg.NodePolicy {
	case "", PolicySimple, PolicyStatic:
	default:
		return nil, fmt.Errorf("node policy %q: want %s or %s", cfg.NodePolicy, PolicySimple, PolicyStatic)
	}
	if cfg.NodeSettings != "" {
		if p.settings, err = ReadNodeSettings(cfg.NodeSettings); err != nil {
			return nil, err
		}
	}
	if p.boot.cluster, err = join.Find(ctx, mgr.GetAPIReader(), cfg.Kubernetes, cfg.APIServer); err != nil {
		return nil, err
	}
	d, err := discovery.NewDiscoveryClientForConfig(cfg.Kubernetes)
	if err != nil {
		return nil, err
	}
	version, err := d.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask Kubernetes for its version: %w", err)
	}
	p.boot.version = version.String()
	registry := cfg.Registry
	if registry == nil {
		registry = ctrlmetrics.Registry
	}
	return p, p.metrics.register(registry)
}

// runKarpenter has Karpenter's own controllers run in the manager.
func runKarpenter(ctx context.Context, mgr manager.Manager, p *CloudProvider) error {
	if err := index(ctx, mgr); err != nil {
		return err
	}
	c, store := clock.RealClock{}, nodeoverlay.NewInstanceTypeStore()
	decorated := overlay.Decorate(p, mgr.GetClient(), store)
	cluster := state.NewCluster(c, mgr.GetClient(), decorated)
	recorder := events.NewRecorder(mgr.GetEventRecorderFor("karpenter")) //nolint:staticcheck // Karpenter takes no other one yet
	for _, one := range controllers.NewControllers(ctx, mgr, c, mgr.GetClient(), recorder, decorated, p, cluster, store) {
		if err := one.Register(ctx, mgr); err != nil {
			return fmt.Errorf("set up Karpenter: %w", err)
		}
	}
	return nil
}
