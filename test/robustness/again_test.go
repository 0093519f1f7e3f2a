package robustness

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// again checks that a change whose answer was lost isn't sent again before
// somebody has looked whether it was done.
func (r *run) again(now *entry) {
	if !now.write() || strings.HasPrefix(now.path, "/access/") {
		return
	}
	r.trace.mu.Lock()
	looked, blind := false, (*entry)(nil)
	for _, e := range slices.Backward(r.trace.entries) {
		if e == now || e.who != now.who || e.method == "" {
			continue
		}
		if e.method == http.MethodGet && e.status == http.StatusOK && !looked {
			looked = true
		}
		if e.method == now.method && e.path == now.path && sameParams(e.params, now.params) {
			if e.lost() && !looked {
				blind = e
			}
			break
		}
	}
	r.trace.mu.Unlock()
	if blind != nil {
		r.fail("sent again though its answer was lost, and nobody has looked: %s", now)
	}
}

// lost reports whether nobody knows what became of a request: there was no answer, or
// it was no longer waited for, or somebody on the way gave one. 595 isn't among
// these: the node was never reached.
func (e *entry) lost() bool {
	switch e.status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, 596, 599:
		return true
	case 0:
		return e.done > 0 || e.left
	}
	return e.left
}

func sameParams(a, b url.Values) bool { return a.Encode() == b.Encode() }
