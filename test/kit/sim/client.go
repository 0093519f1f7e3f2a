package sim

import (
	"net/http"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// T is what a client needs of a test; those of properties have it, too.
type T interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
}

// Dial returns a client of a simulated Proxmox with no network between them, until the test ends.
func Dial(t T, s *pvesim.Sim, creds pve.Credentials) *pve.Client {
	t.Helper()
	wire, stop := s.Transport()
	t.Cleanup(stop)
	return Over(t, wire, creds)
}

// Over returns a client whose requests take a way of the test's own.
func Over(t T, wire http.RoundTripper, creds pve.Credentials) *pve.Client {
	t.Helper()
	c, err := pve.New(pve.Config{Endpoints: []string{"https://pve1:8006"}, Credentials: creds, RoundTripper: wire})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
