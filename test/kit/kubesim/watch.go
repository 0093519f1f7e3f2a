package kubesim

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// watch streams what happens from a version on.
func (l *Line) watch(req *http.Request) (*http.Response, error) {
	q := req.URL.Query()
	p, ok := l.api.locate(req.URL.Path)
	if !ok {
		return respond(req, 404, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}), nil
	}
	if q.Get("sendInitialEvents") == "true" {
		return respond(req, 422, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "message": "sendInitialEvents is not supported here", "code": 422}), nil
	}
	from, _ := strconv.Atoi(q.Get("resourceVersion"))
	slim := strings.Contains(req.Header.Get("Accept"), "as=PartialObjectMetadata")
	r, w := io.Pipe()
	go func() {
		defer w.Close()
		for at := 0; ; {
			events, news := l.api.since(at)
			at += len(events)
			for _, e := range events {
				if e.version <= from || e.resource != p.kind.Resource || p.namespace != "" && e.object.Namespace() != p.namespace || !selected(e.object, q.Get("fieldSelector")) {
					continue
				}
				o := e.object
				if slim {
					o = o.slim()
				}
				text, err := json.Marshal(map[string]any{"type": e.kind, "object": o})
				if err != nil {
					panic(err)
				}
				if _, err := w.Write(append(text, '\n')); err != nil {
					return
				}
			}
			select {
			case <-news:
			case <-req.Context().Done():
				return
			case <-l.ctx.Done():
				return
			}
		}
	}()
	return response(req, http.StatusOK, r), nil
}

// since are the events from the nth on, and a channel that tells of more.
func (a *API) since(n int) ([]event, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log[n:], a.news
}
