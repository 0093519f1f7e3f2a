// Package steps finds the steps of plans that requests to Proxmox belong to: nothing is taken away
// but by a step of a plan.
package steps

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/proxplane/proxplane/engine"
)

// Running are the steps that are being done, as events of an engine tell them. The zero value is
// ready.
type Running struct {
	mu    sync.Mutex
	begun []engine.Event
}

// Event notes that a step was begun, or has ended.
func (r *Running) Event(e engine.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Kind {
	case engine.Started:
		r.begun = append(r.begun, e)
	case engine.Done, engine.Failed:
		i := slices.IndexFunc(r.begun, func(b engine.Event) bool { return b.Owner == e.Owner && b.Step == e.Step })
		if i >= 0 {
			r.begun = slices.Delete(r.begun, i, i+1)
		}
	}
}

// Check reports a request that takes something away and belongs to no step that is being done. The
// path is that below /api2/json.
func (r *Running) Check(method, path string, params url.Values) error {
	if method == http.MethodGet {
		return nil
	}
	kinds, what, removes := remover(method, path, params)
	if !removes {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.begun {
		if slices.Contains(kinds, e.Action) && (what == "" || strings.Contains(e.Step, what) || strconv.Itoa(e.VMID) == what) {
			return nil
		}
	}
	return fmt.Errorf("%s %s takes %s away, and is no part of a step that is being done", method, path, what)
}

// remover is which kinds of actions make a request that takes something away, and what their steps
// are about; false: it takes nothing away.
func remover(method, route string, params url.Values) (kinds []string, what string, removes bool) {
	parts := strings.Split(strings.Trim(route, "/"), "/")
	part := func(i int) string {
		if i < len(parts) {
			return parts[i]
		}
		return ""
	}
	guest := part(0) == "nodes" && part(2) == "qemu"
	switch {
	case guest && part(4) == "config" && method != http.MethodGet && params.Get("delete") != "":
		return []string{"Configure", "Release", "Detach"}, part(3), true
	case guest && part(4) == "firewall" && (method == http.MethodDelete || params.Get("delete") != ""):
		return []string{"SetFirewall"}, part(3), true
	case route == "/pools" && method == http.MethodPut && params.Get("delete") != "":
		return []string{"SetPool"}, params.Get("vms"), true
	case method == http.MethodPut && strings.HasPrefix(route, "/cluster/ha/rules/"):
		return []string{"SetHA", "KeepApart"}, "", true
	case method != http.MethodDelete:
		return nil, "", false
	case guest && part(4) == "":
		return []string{"Destroy"}, part(3), true
	case guest && part(4) == "snapshot":
		return []string{"Unsnap"}, part(5), true
	case part(2) == "storage" && part(4) == "content":
		volume, err := url.PathUnescape(strings.Join(parts[5:], "/"))
		if err != nil || !strings.Contains(volume, ":") {
			volume = part(3) + ":" + volume
		}
		return []string{"RemoveFile", "RemoveDisk"}, volume, true
	case part(0) == "nodes" && part(2) == "tasks":
		return []string{"Stop"}, "", true
	case strings.HasPrefix(route, "/cluster/ha/resources/"):
		return []string{"SetHA"}, strings.TrimPrefix(path.Base(route), "vm:"), true
	case strings.HasPrefix(route, "/cluster/ha/rules/"):
		return []string{"SetHA", "KeepApart"}, "", true
	case strings.HasPrefix(route, "/cluster/mapping/dir/"):
		return []string{"RemoveShare"}, path.Base(route), true
	}
	return nil, route, true // nothing that we do
}
