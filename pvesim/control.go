package pvesim

import "net/http"

// serveControl answers below /sim/: faults, request log and clock.
func (s *Sim) serveControl(w http.ResponseWriter, r *http.Request) {
	http.NotFound(w, r)
}
