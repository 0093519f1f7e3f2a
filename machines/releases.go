package machines

import (
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
)

// DefaultReleases is where Kubernetes publishes kubelets.
const DefaultReleases = "https://dl.k8s.io/release"

// releases knows which kubelets are published, so that no machine is made that would look for one in vain.
type releases struct {
	url  string // empty: it isn't asked
	http *http.Client
	now  func() time.Time

	mu    sync.Mutex
	known map[string]release
}

type release struct {
	missing bool
	at      time.Time
}

const (
	releaseAge      = 5 * time.Minute // how long an answer is good for
	releasePatience = 5 * time.Second
)

func newReleases(url string) *releases {
	return &releases{url: url, http: &http.Client{Timeout: releasePatience}, now: time.Now, known: map[string]release{}}
}

// missing is the URL where the kubelet of a version should be and isn't; empty: it is there, or that can't be found out, in a network without the
// Internet for instance. Versions that others publish, such as 1.34.2-eks-1, are looked for nowhere.
func (r *releases) missing(ctx context.Context, v *version.Version) string {
	if r.url == "" || v.PreRelease() != "" {
		return ""
	}
	name := "v" + v.WithBuildMetadata("").String()
	at := r.url + "/" + name + "/bin/linux/amd64/kubelet"
	r.mu.Lock()
	defer r.mu.Unlock() // who needs the same waits for it
	is, known := r.known[name]
	if !known || r.now().Sub(is.at) >= releaseAge {
		is = release{missing: r.absent(ctx, at), at: r.now()}
		if ctx.Err() == nil {
			r.known[name] = is
		}
	}
	if is.missing {
		return at
	}
	return ""
}

// absent reports whether a site says that it hasn't got something.
func (r *releases) absent(ctx context.Context, url string) bool {
	q, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return false
	}
	a, err := r.http.Do(q)
	if err != nil {
		return false
	}
	_ = a.Body.Close() // it has none
	return a.StatusCode == http.StatusNotFound
}
