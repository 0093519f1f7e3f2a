package machines

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8c.io/machine-controller/pkg/controller/machinedeployment"
	"k8c.io/machine-controller/pkg/controller/machineset"
	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/kube/drain"
	"github.com/proxplane/proxplane/kube/join"
	"github.com/proxplane/proxplane/site"
)

// Door is the name of this door in the owners of machines.
const Door = "machines"

// Kind is the kind of objects that machines belong to.
const Kind = "Machine"

// Options are the configuration of the door.
type Options struct {
	// Beside says that machine-controller runs, too: it controls MachineDeployments and MachineSets,
	// and only Machines whose provider is proxmox are ours.
	Beside bool
	// JoinTimeout is after how long a machine that hasn't become a node is replaced; 0: never.
	JoinTimeout time.Duration
	// SkipEvictionAfter is the timeout of a drain.
	SkipEvictionAfter time.Duration
	// APIServer is the URL by which machines reach the API server; empty: that of cluster-info.
	APIServer string
	// ClusterDNS are the addresses of the cluster's name servers; none: that of the Service kube-dns.
	ClusterDNS []string
	// Releases is the URL where kubelets are published, to find out whether a version exists; empty: that isn't asked.
	Releases string

	// Namespaces are those to reconcile; none: all.
	Namespaces []string

	Kubernetes *rest.Config
	Set        string
	Sites      *site.Sites
	Registry   prometheus.Registerer
	Proxmox    http.RoundTripper
	Logger     *slog.Logger
}

// The defaults, as in the original.
const (
	DefaultJoinTimeout       = 25 * time.Minute
	DefaultSkipEvictionAfter = 2 * time.Hour

	workers = 20
)

// Scheme adds the kinds.
func Scheme(s *runtime.Scheme) error { return clusterv1alpha1.AddToScheme(s) }

// SetUp adds the controllers to a manager.
func SetUp(_ context.Context, mgr manager.Manager, o Options) error {
	direct, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return err
	}
	events, err := kube.NewEvents(mgr, "proxplane-"+Door)
	if err != nil {
		return err
	}
	log := o.Logger.With("door", Door)
	r := &reconciler{
		Options: o, client: client.WithFieldOwner(mgr.GetClient(), "proxplane"), direct: direct, brief: brief(direct), log: log, now: time.Now, getenv: os.Getenv,
		events:  events,
		drainer: &drain.Drainer{Client: mgr.GetClient(), Pods: direct},
		tokens:  &join.Tokens{Client: direct, Door: tokenDoor(o.Namespaces)},
		metrics: newMetrics(o.Registry, mgr.GetClient()),
		secrets: newContents(direct), boots: &boots{}, releases: newReleases(o.Releases),
	}
	r.fleet = newFleet(o, mgr.GetClient(), direct, log)
	if o.Beside {
		log.Info("machine-controller controls MachineDeployments and MachineSets; only Machines whose cloudProvider is proxmox are looked after here")
	} else {
		r.rival = newRival(direct, log)
		m := scalable{mgr, newParents(direct), r.rival}
		for name, add := range map[string]func() error{
			"MachineDeployments":             func() error { return machinedeployment.Add(m, zapLogger(log)) },
			"MachineSets":                    func() error { return machineset.Add(m, zapLogger(log)) },
			"progress of MachineDeployments": func() error { return watchProgress(m, r.events) },
			"them beside machine-controller": func() error { return mgr.Add(r.rival) },
		} {
			if err := add(); err != nil {
				return fmt.Errorf("control %s: %w", name, err)
			}
		}
	}
	one, err := kube.NewController("machines", mgr, r, workers)
	if err != nil {
		return err
	}
	r.metrics.workers.Set(workers)
	for _, s := range []source.Source{
		source.Kind[client.Object](mgr.GetCache(), &clusterv1alpha1.Machine{}, &handler.EnqueueRequestForObject{}),
		source.Kind[client.Object](mgr.GetCache(), &corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.ofNode), nodeChanged{}),
		&r.fleet.feed,
	} {
		if err := one.Watch(s); err != nil {
			return err
		}
	}
	if err := mgr.Add(closing{r.fleet}); err != nil {
		return err
	}
	return join.Setup(mgr, r.tokens, &joining{r})
}

// briefAge is how long that is believed which all Machines need that are made at once.
const briefAge = time.Second

func brief(direct client.Reader) client.Reader { return &kube.Brief{Reader: direct, Age: briefAge} }

// tokenDoor is what bootstrap tokens are known by. Operators for other namespaces have tokens of their own: who
// doesn't see a machine would deny its certificate.
func tokenDoor(namespaces []string) string {
	if len(namespaces) == 0 {
		return Door
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(namespaces)), "\x00")))
	return Door + "-" + hex.EncodeToString(sum[:4])
}
