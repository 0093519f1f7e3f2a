package terraform

import (
	"net/http"

	"github.com/hashicorp/terraform-plugin-framework/provider"

	"github.com/proxplane/proxplane/site"
)

// NewThrough makes a provider whose requests go through a round tripper. What it has opened is handed to a function, which
// closes it: a provider's process never does.
func NewThrough(rt http.RoundTripper, opened func(*site.Site)) provider.Provider {
	return &plugin{version: "test", getenv: func(string) string { return "" }, open: func(cfg site.Config, opts site.Options) (*site.Site, error) {
		cfg.Proxmox.RoundTripper = rt
		s, err := site.Open(cfg, opts)
		if err == nil {
			opened(s)
		}
		return s, err
	}}
}

// NewIn makes a provider in an environment.
func NewIn(env map[string]string) provider.Provider {
	return &plugin{version: "test", getenv: func(name string) string { return env[name] }, open: site.Open}
}

// NewWalk has a provider begin anew, as a process does that Terraform starts for its next walk.
func NewWalk(p provider.Provider) {
	if d := p.(*plugin).door; d != nil {
		d.claims.forget()
		d.mu.Lock()
		defer d.mu.Unlock()
		clear(d.planned)
	}
}
