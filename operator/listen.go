package operator

import (
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// serveMetrics says where and how metrics are served.
func (cfg Config) serveMetrics() metricsserver.Options {
	if cfg.Metrics == "" {
		return metricsserver.Options{BindAddress: "0"}
	}
	o := metricsserver.Options{BindAddress: cfg.Metrics}
	if cfg.MetricsSecure {
		o.SecureServing, o.CertDir, o.FilterProvider = true, cfg.MetricsCertificate, guardMetrics
	}
	return o
}

// guardMetrics lets those read metrics whom Kubernetes knows by their token and who may
// get /metrics there. It is what controller-runtime's filters do, without the API server's
// libraries that these bring along.
func guardMetrics(cfg *rest.Config, hc *http.Client) (metricsserver.Filter, error) {
	who, err := authentication.NewForConfigAndClient(cfg, hc)
	if err != nil {
		return nil, err
	}
	may, err := authorization.NewForConfigAndClient(cfg, hc)
	if err != nil {
		return nil, err
	}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		return &guard{tokens: who.TokenReviews(), rights: may.SubjectAccessReviews(), next: next, log: log}, nil
	}, nil
}

// guard asks Kubernetes who somebody is, and what they may do.
type guard struct {
	tokens authentication.TokenReviewInterface
	rights authorization.SubjectAccessReviewInterface
	next   http.Handler
	log    logr.Logger
}

// ServeHTTP answers a request.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
		return
	}
	t, err := g.tokens.Create(r.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	switch {
	case err != nil:
		g.refuse(w, "authenticate", err)
		return
	case !t.Status.Authenticated:
		http.Error(w, "the token isn't valid", http.StatusUnauthorized)
		return
	}
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: t.Status.User.Username, Groups: t.Status.User.Groups, UID: t.Status.User.UID, Extra: map[string]authorizationv1.ExtraValue{},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: r.URL.Path, Verb: strings.ToLower(r.Method)},
	}
	for key, values := range t.Status.User.Extra {
		spec.Extra[key] = authorizationv1.ExtraValue(values)
	}
	a, err := g.rights.Create(r.Context(), &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	switch {
	case err != nil:
		g.refuse(w, "authorize", err)
	case !a.Status.Allowed:
		http.Error(w, spec.User+" may not "+spec.NonResourceAttributes.Verb+" "+r.URL.Path, http.StatusForbidden)
	default:
		g.next.ServeHTTP(w, r)
	}
}

// refuse answers that Kubernetes couldn't be asked; the reason is for the log.
func (g *guard) refuse(w http.ResponseWriter, what string, err error) {
	g.log.Error(err, what+" somebody who asks for metrics")
	http.Error(w, "Kubernetes can't be asked who you are", http.StatusInternalServerError)
}
