package kubesim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Line is a connection to the API that can break. Its requests take a moment.
type Line struct {
	api *API

	mu   sync.Mutex
	dead bool
	stop context.CancelFunc
	ctx  context.Context
}

// Connect makes a connection.
func (a *API) Connect() *Line {
	ctx, stop := context.WithCancel(context.Background())
	return &Line{api: a, ctx: ctx, stop: stop}
}

// Cut breaks the connection for good: watches end, and nothing is answered any more.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	l.stop()
}

// latency is how long a request takes.
const latency = 2 * time.Millisecond

// RoundTrip answers a request.
func (l *Line) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, quick := l.api.discover(req.URL.Path); !quick { // asked for with a mutex held, which stops virtual time
		select {
		case <-time.After(latency):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	l.mu.Lock()
	dead := l.dead
	l.mu.Unlock()
	if dead {
		return nil, syscall.ECONNREFUSED
	}
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req.Body.Close()
	}
	if req.URL.Query().Get("watch") == "true" || req.URL.Query().Get("watch") == "1" {
		return l.watch(req)
	}
	value, err := l.api.answer(req, body)
	var f *failure
	switch {
	case errors.As(err, &f):
		return respond(req, f.code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": f.reason, "message": f.text, "code": f.code}), nil
	case err != nil:
		return nil, err
	}
	return respond(req, http.StatusOK, value), nil
}

func respond(req *http.Request, code int, value any) *http.Response {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return response(req, code, io.NopCloser(bytes.NewReader(text)))
}

func response(req *http.Request, code int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: code, Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: req, ContentLength: -1,
	}
}

// place is what a path names.
type place struct {
	kind                 Kind
	namespace, name, sub string
}

// locate finds what a path names; false: nothing that is here.
func (a *API) locate(path string) (p place, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return p, false
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		p.namespace, parts = parts[1], parts[2:]
	}
	p.kind, ok = a.kinds[parts[0]]
	for _, k := range a.kinds {
		if k.Resource == parts[0] && k.Group == group {
			p.kind = k
		}
	}
	if len(parts) > 1 {
		p.name = parts[1]
	}
	if len(parts) > 2 {
		p.sub = parts[2]
	}
	return p, ok && p.kind.Group == group
}

// answer answers a request that isn't a watch.
func (a *API) answer(req *http.Request, body []byte) (any, error) {
	if v, ok := a.discover(req.URL.Path); ok {
		return v, nil
	}
	p, ok := a.locate(req.URL.Path)
	if !ok {
		return nil, &failure{404, "NotFound", "the server could not find the requested resource"}
	}
	slim := strings.Contains(req.Header.Get("Accept"), "as=PartialObjectMetadata")
	var o Object
	var err error
	switch req.Method {
	case http.MethodGet:
		if p.name == "" {
			return a.list(p, req.URL.Query().Get("fieldSelector"), slim), nil
		}
		if o = a.Get(p.kind.Resource, p.namespace, p.name); o == nil {
			return nil, notFound(p.kind, p.name)
		}
	case http.MethodPost:
		if err := json.Unmarshal(body, &o); err != nil {
			return nil, err
		}
		o.meta()["namespace"] = p.namespace
		o, err = a.Create(p.kind.Resource, o)
	case http.MethodPut:
		var given Object
		if err := json.Unmarshal(body, &given); err != nil {
			return nil, err
		}
		o, err = a.Update(p.kind.Resource, p.namespace, p.name, p.sub, func(o Object) error {
			clear(o)
			for k, v := range given {
				o[k] = v
			}
			return nil
		})
	case http.MethodPatch:
		if t := req.Header.Get("Content-Type"); t != "application/merge-patch+json" {
			return nil, &failure{415, "UnsupportedMediaType", "patches of type " + t + " are not supported here"}
		}
		var patch map[string]any
		if err := json.Unmarshal(body, &patch); err != nil {
			return nil, err
		}
		o, err = a.Update(p.kind.Resource, p.namespace, p.name, p.sub, func(o Object) error {
			merge(o, patch)
			return nil
		})
	case http.MethodDelete:
		if err := a.Delete(p.kind.Resource, p.namespace, p.name); err != nil {
			return nil, err
		}
		return map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"}, nil
	default:
		return nil, &failure{405, "MethodNotAllowed", req.Method + " is not supported here"}
	}
	if err != nil {
		return nil, err
	}
	if slim {
		return o.slim(), nil
	}
	return o, nil
}

// merge does what RFC 7386 says.
func merge(into, patch map[string]any) {
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(into, k)
		case map[string]any:
			inner, ok := into[k].(map[string]any)
			if !ok {
				inner = map[string]any{}
				into[k] = inner
			}
			merge(inner, v)
		default:
			into[k] = v
		}
	}
}

// slim is the metadata of an object.
func (o Object) slim() Object {
	return Object{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o["metadata"]}
}

func (a *API) list(p place, selector string, slim bool) any {
	items := []Object{}
	for _, o := range a.List(p.kind.Resource) {
		switch {
		case p.namespace != "" && o.Namespace() != p.namespace, !selected(o, selector):
		case slim:
			items = append(items, o.slim())
		default:
			items = append(items, o)
		}
	}
	a.mu.Lock()
	version := strconv.Itoa(a.version)
	a.mu.Unlock()
	out := map[string]any{"kind": p.kind.Name + "List", "apiVersion": p.kind.apiVersion(), "metadata": map[string]any{"resourceVersion": version}, "items": items}
	if slim {
		out["kind"], out["apiVersion"] = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	return out
}

// selected reports whether a field selector takes an object: type!=a,metadata.name=b.
func selected(o Object, selector string) bool {
	for _, part := range strings.Split(selector, ",") {
		switch field, value, ok := strings.Cut(part, "!="); {
		case ok && field == "type" && o["type"] == value:
			return false
		case !ok && strings.HasPrefix(part, "metadata.name="):
			if o.Name() != strings.TrimPrefix(part, "metadata.name=") {
				return false
			}
		}
	}
	return true
}
