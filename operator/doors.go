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

// Door is another door that the operator's process serves: whoever starts the operator brings it along,
// since doors don't know each other.
type Door struct {
	// Scheme adds its kinds; nil: it has none.
	Scheme func(*runtime.Scheme) error
	// SetUp adds its controllers to the manager. It is called before the manager starts.
	SetUp func(context.Context, Shared) error
}

// Shared is what all doors of a process share.
type Shared struct {
	Manager    manager.Manager
	Kubernetes *rest.Config
	Set        string // what all guests of this Kubernetes have in common
	Sites      *site.Sites
	Namespaces []string // that are looked after; none: all
	Registry   prometheus.Registerer
	Proxmox    http.RoundTripper // carries requests to Proxmox; nil: the network
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
