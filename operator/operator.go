package operator

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/site"
)

// Config is the configuration of the operator.
type Config struct {
	Kubernetes *rest.Config

	// Namespaces are those to reconcile; none: all.
	Namespaces []string

	// Cluster is the name of this Kubernetes among those that share a Proxmox. It is part of
	// the owner of guests, so it must not change. Empty: one that is made from the UID of the
	// namespace kube-system.
	Cluster string

	// Election elects a leader among several replicas; nil: there is only one.
	Election *Election

	// SecretNamespaces are those in which Secrets may be read; none: all of Namespaces.
	SecretNamespaces []string

	// Metrics, Health and Profiler are addresses to listen on; empty: nowhere.
	Metrics, Health, Profiler string

	// MetricsSecure serves metrics by TLS, to those who may get /metrics in Kubernetes.
	MetricsSecure bool
	// MetricsCertificate is a folder with tls.crt and tls.key for that; empty: a
	// certificate that is made at the start.
	MetricsCertificate string

	Logger *slog.Logger

	// Registry gets the metrics; nil: that of controller-runtime, which allows for one
	// operator a process.
	Registry prometheus.Registerer

	// Sites are shared with other doors of the process; nil: the operator's own.
	Sites *site.Sites

	// Proxmox is the transport of requests to Proxmox; nil: the network.
	Proxmox http.RoundTripper
	// Web is the transport of requests for images at URLs; nil: the network.
	Web http.RoundTripper

	// Doors are other doors that this process serves, on the same manager and the same sites.
	Doors []Door

	// Without disables the operator's own kinds: only Doors are served.
	Without bool

	// Events receives the steps in Proxmox of all Providers; may be nil. It is called
	// concurrently.
	Events func(engine.Event)
}

// Election is the leader election of replicas.
type Election struct {
	Namespace string
	// Lease is the duration of the leader's lease, Renew how long the leader tries to renew it
	// before it gives up, Retry the interval of tries. Zero values: 15, 10 and 2 seconds.
	Lease, Renew, Retry time.Duration
}

// deps are what the parts of the operator share.
type deps struct {
	client    client.Client
	direct    client.Reader // past the cache
	events    *kube.Events
	claims    chan struct{} // a place for each that is being written
	ledger    *ledger
	providers *providers
	budget    *engine.Budget // of all machines that are restarted and replaced
	metrics   *metrics
	log       *slog.Logger
	// namespaces are those to reconcile; none: all.
	namespaces []string
	set        string // the set of all guests of this Kubernetes
	proxmox    http.RoundTripper
	web        http.RoundTripper
	clusters   *site.Sites // that Providers lead to
	secrets    []string    // namespaces in which Secrets may be read; none: all
	listener   func(engine.Event)
}

// fieldOwner is who has written what the operator writes, as managedFields say it.
const fieldOwner = "proxplane"

// gcPercent has memory collected when it has grown by half: the operator rests most
// of the time, and each of its rounds makes as much as it keeps.
const gcPercent = 50

// Run runs until ctx ends, or until it isn't the leader any more, which is an error.
func Run(ctx context.Context, cfg Config) error {
	if err := limitMemory(os.Getenv); err != nil {
		return err
	}
	// What the libraries say is for those who look for something.
	logger := logr.FromSlogHandler(cfg.Logger.Handler()).V(1)
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	mgr, err := ctrl.NewManager(cfg.Kubernetes, cfg.options(logger))
	if err != nil {
		return fmt.Errorf("connect to Kubernetes: %w", err)
	}
	set, err := cfg.set(ctx, mgr.GetAPIReader())
	if err != nil {
		return err
	}
	if cfg.Sites == nil {
		cfg.Sites = new(site.Sites)
	}
	if cfg.Registry == nil {
		cfg.Registry = ctrlmetrics.Registry
	}
	for _, door := range cfg.Doors {
		if err := door.SetUp(ctx, cfg.shared(mgr, set)); err != nil {
			return err
		}
	}
	if !cfg.Without {
		err = cfg.own(ctx, mgr, set)
	} else {
		err = kube.Health(mgr)
	}
	if err != nil {
		return err
	}
	cfg.Logger.Info("starting", "cluster", set, "namespaces", cfg.Namespaces)
	return mgr.Start(ctx)
}

// own serves the operator's own kinds.
func (cfg Config) own(ctx context.Context, mgr manager.Manager, set string) error {
	events, err := kube.NewEvents(mgr, "proxplane")
	if err != nil {
		return err
	}
	d := &deps{client: client.WithFieldOwner(mgr.GetClient(), fieldOwner), direct: mgr.GetAPIReader(), events: events, claims: make(chan struct{}, maxClaims), ledger: newLedger(), log: cfg.Logger, namespaces: cfg.Namespaces, set: set, proxmox: cfg.Proxmox, web: cfg.Web, secrets: cfg.SecretNamespaces, clusters: cfg.Sites, listener: cfg.Events}
	d.providers, d.budget = newProviders(d), engine.NewBudget(d.unread)
	d.metrics = newMetrics(cfg.Registry, d.providers, &census{reader: mgr.GetClient(), elected: mgr.Elected(), now: time.Now})
	if err := awaitKinds(ctx, mgr.GetRESTMapper()); err != nil {
		return err
	}
	return setUp(ctx, mgr, d)
}

func (cfg Config) options(logger logr.Logger) manager.Options {
	o := manager.Options{
		Scheme: cfg.scheme(), Logger: logger, HealthProbeBindAddress: cfg.Health, PprofBindAddress: cfg.Profiler, Metrics: cfg.serveMetrics(),
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				// Nobody keeps a login or user-data in these, and they are large.
				&corev1.Secret{}:    {Transform: onlyName, Field: fields.ParseSelectorOrDie("type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token"), Namespaces: only(cfg.SecretNamespaces)},
				&corev1.ConfigMap{}: {Transform: onlyName},
			},
		},
		Controller: config.Controller{MaxConcurrentReconciles: 8},
	}
	o.Cache.DefaultNamespaces = only(cfg.Namespaces)
	if e := cfg.Election; e != nil {
		o.LeaderElection, o.LeaderElectionID, o.LeaderElectionNamespace = true, "proxplane", e.Namespace
		o.LeaderElectionReleaseOnCancel = true // nothing runs any more when Run returns
		for _, t := range []struct {
			from time.Duration
			to   **time.Duration
		}{{e.Lease, &o.LeaseDuration}, {e.Renew, &o.RenewDeadline}, {e.Retry, &o.RetryPeriod}} {
			if t.from > 0 {
				*t.to = &t.from
			}
		}
	}
	return o
}

// only has a cache hold some namespaces; none: all.
func only(namespaces []string) map[string]cache.Config {
	if len(namespaces) == 0 {
		return nil
	}
	all := map[string]cache.Config{}
	for _, n := range namespaces {
		all[n] = cache.Config{}
	}
	return all
}

// set is what all guests of this Kubernetes have in common.
func (cfg Config) set(ctx context.Context, r client.Reader) (string, error) {
	if cfg.Cluster != "" {
		return cfg.Cluster, nil
	}
	return kube.Name(ctx, r)
}
