package robustness

import (
	"net/http"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/admission"
)

// weakness is a safeguard that is taken away, to see that its lack is noticed.
type weakness struct{}

func (w *weakness) admit(c *admission.Config) {
	if w == nil {
		return
	}
	wide := admission.Bounds{Start: 1 << 20, Max: 1 << 20}
	c.Write, c.Storage, c.Read = wide, wide, wide
}

func (w *weakness) vmids(r model.Range) model.Range { return r }

func (w *weakness) exchange(from *wire, req *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	return send()
}
