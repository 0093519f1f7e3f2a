package script_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// site is the simulated Proxmox of one story.
type site struct {
	*sim.Server
	release string
	all     []*sim.Server     // those that were started, in their order
	left    map[string]string // VM 500 as the neighbour left it
	locked  int               // how many lists had been asked for when a VM was locked last
}

type siteKey struct{}

// at is the story's Proxmox.
func at(ts *testscript.TestScript) *site {
	s := ts.Value(siteKey{}).(*site)
	if s.Server == nil {
		ts.Fatalf("there is no simulator; sim-start comes first")
	}
	return s
}

// simStart [YAML] starts a Proxmox, and lets the environment point at it. It is the
// default world, quick but late and uneven (see sim.Uneven), with me@pve, an administrator
// unless the world has rules of its own; the YAML says what is different.
func simStart(ts *testscript.TestScript, neg bool, args []string) {
	w := pvesim.DefaultWorld()
	sim.Quick(w)
	sim.Uneven(w)
	here := ts.Value(siteKey{}).(*site)
	w.Release = here.release
	for _, a := range args {
		ts.Check(yaml.UnmarshalStrict([]byte(a), w))
	}
	server, err := sim.Start(w)
	ts.Check(err)
	here.Server, here.all = server, append(here.all, server)
	ts.Defer(func() {
		if err := server.Stop(); err != nil {
			ts.Logf("simulator: %v", err)
		}
	})
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), sim.CA(), 0o600))
	ts.Setenv("PVE_ENDPOINT", server.Endpoint)
	ts.Setenv("PVE_CA_BUNDLE", ts.MkAbs("ca.pem"))
	ts.Setenv("PVE_TOKEN_ID", sim.TokenID)
	ts.Setenv("PVE_TOKEN_SECRET", sim.TokenSecret)
}

// simHide lets the simulator be reached without what only simulators have, as a real
// Proxmox.
func simHide(ts *testscript.TestScript, neg bool, args []string) {
	server := at(ts).Server
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/sim") {
			http.NotFound(w, r)
			return
		}
		server.Handler().ServeHTTP(w, r)
	}))
	s.StartTLS()
	ts.Defer(s.Close)
	ts.Setenv("PVE_ENDPOINT", s.URL)
}

// simUse N has what follows look at the Nth of the Proxmoxes that were started.
func simUse(ts *testscript.TestScript, neg bool, args []string) {
	s := at(ts)
	var n int
	if _, err := fmt.Sscan(strings.Join(args, " "), &n); err != nil || n < 1 || n > len(s.all) {
		ts.Fatalf("usage: sim-use N, from 1 to %d", len(s.all))
	}
	s.Server = s.all[n-1]
}

// secretWithLogin FILE [NAME] writes a Provider with its Secret, for the simulator, as
// the documentation shows them.
func secretWithLogin(ts *testscript.TestScript, neg bool, args []string) {
	provider, secret := "proxmox-prod", "pve-credentials"
	if len(args) > 1 {
		provider, secret = args[1], args[1]+"-credentials"
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(at(ts).Provider(provider, secret)), 0o600))
}
