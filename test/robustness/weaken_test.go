package robustness

import (
	"net/http"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/admission"
)

// weakness is a safeguard that is taken away, to see that its lack is noticed.
type weakness struct{}

func (w *weakness) limiter() *admission.Limiter { return nil }

func (w *weakness) vmids(r model.Range) model.Range { return r }

func (w *weakness) exchange(from *wire, req *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	return send()
}
