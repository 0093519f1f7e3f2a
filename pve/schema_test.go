package pve

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/proxplane/proxplane/pve/schema"
)

// obliging answers everything so that the client is content.
func obliging() *recorder {
	return &recorder{answer: func(w http.ResponseWriter, r seen) {
		switch {
		case strings.HasSuffix(r.path, "/status") && strings.Contains(r.path, "/tasks/"):
			answerData(w, map[string]any{"status": "stopped", "exitstatus": "OK"})
		case r.String() == "POST /access/ticket":
			answerData(w, map[string]any{"ticket": "PVE:root@pam:obliging-ticket", "CSRFPreventionToken": "obliging-csrf"})
		default:
			answerData(w, nil)
		}
	}}
}

// parameters are what Proxmox gets from a request beside its path.
func parameters(t *testing.T, r seen) map[string]any {
	values := url.Values{}
	switch {
	case strings.HasPrefix(r.header.Get("Content-Type"), "multipart/"):
		fields, _, err := proxmoxUpload(r.header.Get("Content-Type"), []byte(r.rawBody))
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range fields {
			values.Set(key, value)
		}
	case r.method == "POST" || r.method == "PUT":
		values = r.form
		if len(r.query) > 0 {
			t.Errorf("%s: parameters of a write in the query: %v", r, r.query)
		}
	default:
		values = r.query
		if r.rawBody != "" {
			t.Errorf("%s: a body, which Proxmox refuses", r)
		}
	}
	params := map[string]any{}
	for key, all := range values {
		if len(all) == 1 {
			params[key] = all[0]
			continue
		}
		list := make([]any, len(all))
		for i, value := range all {
			list[i] = value
		}
		params[key] = list
	}
	return params
}

func TestEveryCallIsOneThatProxmoxHas(t *testing.T) {
	for _, text := range []string{"8.4", "9.2"} {
		s, err := schema.Load(text)
		if err != nil {
			t.Fatal(err)
		}
		var r release
		fmt.Sscan(text, &r)
		for _, call := range apiCalls {
			if r < call.from || call.until != 0 && r > call.until {
				continue
			}
			t.Run(text+"/"+call.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { checkCall(t, s, r, call) })
			})
		}
	}
}

func checkCall(t *testing.T, s *schema.Schema, r release, call apiCall) {
	h := obliging()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := call.make(ctx, client(t, virtual(h)), r); err != nil {
		t.Fatal(err)
	}
	if len(h.all) == 0 {
		t.Fatal("nothing was sent")
	}
	for _, sent := range h.all {
		endpoint, path := s.Find(sent.method, sent.path)
		if endpoint == nil {
			t.Errorf("Proxmox has no %s", sent)
			continue
		}
		merged, errs := schema.Merge(path, parameters(t, sent))
		if errs == nil {
			_, errs = endpoint.Verify(merged)
		}
		for field, text := range errs {
			t.Errorf("%s: %s: %s", sent, field, text)
		}
	}
}

func TestTheTableHasEveryCallOfThisPackage(t *testing.T) {
	var want []string
	visited := map[reflect.Type]bool{}
	var visit func(handle reflect.Type)
	visit = func(handle reflect.Type) {
		name := handle.Name()
		if handle.Kind() == reflect.Pointer {
			name = handle.Elem().Name()
		}
		if visited[handle] {
			return
		}
		visited[handle] = true
		for i := range handle.NumMethod() {
			m := handle.Method(i)
			takes, gives := m.Type.NumIn(), m.Type.NumOut()
			switch {
			case takes > 1 && m.Type.In(1) == reflect.TypeFor[context.Context]():
				want = append(want, name+"."+m.Name)
			case gives == 1 && m.Type.Out(0).Kind() == reflect.Struct && holdsClient(m.Type.Out(0)):
				visit(m.Type.Out(0))
			}
		}
	}
	visit(reflect.TypeFor[*Client]())

	var have []string
	for _, call := range apiCalls {
		have = append(have, call.name)
	}
	slices.Sort(want)
	slices.Sort(have)
	// A console that is attached to is one that was opened, and a websocket. To wait for a program is to ask for its
	// state.
	elsewhere := []string{"VM.Attach", "Agent.Wait"}
	for _, name := range want {
		if !slices.Contains(have, name) && !slices.Contains(elsewhere, name) {
			t.Errorf("%s is not in the table of calls, so nobody checks it against Proxmox' schema", name)
		}
	}
	for _, name := range have {
		if !slices.Contains(want, name) {
			t.Errorf("%s is in the table, but isn't a method", name)
		}
	}
	if len(want) < 90 {
		t.Errorf("only %d calls were found", len(want))
	}
}

// holdsClient reports whether a type is a handle: it has a client in it.
func holdsClient(t reflect.Type) bool {
	for i := range t.NumField() {
		f := t.Field(i).Type
		if f == reflect.TypeFor[*Client]() || f.Kind() == reflect.Struct && holdsClient(f) {
			return true
		}
	}
	return false
}

func TestWhatIsMarkedForLaterReleasesIsNotInEarlierOnes(t *testing.T) {
	old, err := schema.Load("8.4")
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range apiCalls {
		synctest.Test(t, func(t *testing.T) {
			h := obliging()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if err := call.make(ctx, client(t, virtual(h)), 9); err != nil {
				t.Fatal(err)
			}
			for _, sent := range h.all {
				endpoint, path := old.Find(sent.method, sent.path)
				if (endpoint == nil) != (call.from == 9) {
					t.Errorf("%s: 8.4 has it: %v, but it is marked as from %d", call.name, endpoint != nil, call.from)
				}
				if endpoint == nil {
					continue
				}
				// Only parameters that are marked may be unknown to 8.4.
				merged, _ := schema.Merge(path, parameters(t, sent))
				_, errs := endpoint.Verify(merged)
				for field, text := range errs {
					if !sinceNine[field] || !strings.Contains(text, "not defined in schema") {
						t.Errorf("%s: %s: %s", call.name, field, text)
					}
				}
			}
		})
	}
}

// sinceNine are the parameters with since:"9".
var sinceNine = map[string]bool{"ha-managed": true, "failback": true, "purge": true, "with-conntrack-state": true}
