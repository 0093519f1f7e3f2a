package operator

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/site"
)

// Door is another door that the operator's process serves. The command that starts the operator passes
// it, since doors don't import each other.
type Door struct {
	// Scheme adds its kinds; nil: it has none.
	Scheme func(*runtime.Scheme) error
	// SetUp adds its controllers to the manager. It is called before the manager starts.
	SetUp func(context.Context, Shared) error
}

// Shared are the parts that all doors of a process share.
type Shared struct {
	Manager    manager.Manager
	Kubernetes *rest.Config
	Set        string // the set of all guests of this Kubernetes
	Sites      *site.Sites
	Namespaces []string // namespaces to reconcile; none: all
	Registry   prometheus.Registerer
	Proxmox    http.RoundTripper // transport of requests to Proxmox; nil: the network
	Logger     *slog.Logger
}

func (cfg Config) shared(mgr manager.Manager, set string) Shared {
	return Shared{
		Manager: mgr, Kubernetes: cfg.Kubernetes, Set: set, Sites: cfg.Sites, Namespaces: cfg.Namespaces,
		Registry: cfg.Registry, Proxmox: cfg.Proxmox, Logger: cfg.Logger,
	}
}

// scheme knows the kinds of all doors.
func (cfg Config) scheme() *runtime.Scheme {
	s := kube.Scheme()
	for _, door := range cfg.Doors {
		if door.Scheme == nil {
			continue
		}
		if err := door.Scheme(s); err != nil {
			panic(err) // two types of the same name
		}
	}
	return s
}
