package loadtest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

func newSim(t *testing.T) *pvesim.Sim {
	t.Helper()
	sim, err := pvesim.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sim.Close() })
	return sim
}

func TestOnlyASimulatorIsTakenForOne(t *testing.T) {
	sim, other := newSim(t), newSim(t)
	answer := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
		}
	}
	// beside serves what is below /sim and the API by different hands.
	beside := func(control, api http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/sim") {
				control.ServeHTTP(w, r)
				return
			}
			api.ServeHTTP(w, r)
		})
	}
	for _, c := range []struct {
		reason string
		server http.Handler
		want   bool
	}{
		{"a simulator", sim.Handler(), true},
		{"Proxmox has no such page", beside(answer(http.StatusNotFound, ""), sim.Handler()), false},
		{"something answers everything with nothing", answer(http.StatusOK, "{}"), false},
		{"something answers everything with a page", answer(http.StatusOK, "<html>"), false},
		{"something says that it is a simulator", answer(http.StatusOK, `{"count":1,"requests":[{"n":1,"url":"/api2/json/access/domains?x=1"}]}`), false},
		{"a simulator beside a Proxmox, behind the same proxy", beside(other.Handler(), sim.Handler()), false},
	} {
		s := httptest.NewTLSServer(c.server)
		if got := Simulated(t.Context(), s.Client(), s.URL+"/"); got != c.want {
			t.Errorf("%s: %v", c.reason, got)
		}
		s.Close()
		if Simulated(t.Context(), s.Client(), s.URL) {
			t.Errorf("%s: nobody answers, and that is a simulator", c.reason)
		}
	}
}
