package pvesim

import (
	"errors"
	"io"
	"log"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/pvesim/access"
)

var discardLog = log.New(io.Discard, "", 0)

// maxForm is the largest body of a request that isn't an upload.
const maxForm = 512 * 1024

// noCPUModels says that a cluster has no custom CPU models: the calls that
// make them aren't simulated.
var noCPUModels = schema.CPUModels(func(string) bool { return false })

// call is one API request being handled. It holds the state's lock.
type call struct {
	actor
	ep     *schema.Endpoint
	params schema.Params // verified: path, query and body
	who    *access.Identity
	entry  string // the node that the client talks to
	upload *upload
	total  *int  // "total" beside the data, for paged lists
	door   *door // the console that a websocket leads to
}

// node returns the node named in the path ("localhost" is the entry node).
func (c *call) node() string { return c.nodeName(c.params.Str("node")) }

func (c *call) nodeName(n string) string {
	if n == "localhost" {
		return c.entry
	}
	return n
}

// handler does what an endpoint does. It returns the answer's data.
type handler func(c *call) (any, error)

// Handler answers requests as the entry node does.
func (s *Sim) Handler() http.Handler { return s.HandlerFor("") }

// HandlerFor answers requests as the given node does.
func (s *Sim) HandlerFor(node string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/sim/") || r.URL.Path == "/sim" {
			s.serveControl(w, r)
			return
		}
		s.mu.Lock()
		entry := node
		if entry == "" {
			entry = s.world.Entry
		}
		s.mu.Unlock()
		s.serve(w, r, entry)
	})
}

// request is what came over the wire, before it is known to be an API call.
type request struct {
	http   *http.Request
	method string
	path   string // percent-decoded
	rel    string // below /api2/FORMAT
	format string
	body   []byte
	user   string         // who asked, once that is known
	given  map[string]any // the parameters, once they are read
}

var apiPath = regexp.MustCompile(`^/api2/+([a-z][a-z0-9]+)(/.*)?$`)

func (s *Sim) serve(w http.ResponseWriter, r *http.Request, entry string) {
	req := &request{http: r, method: r.Method}
	path, err := url.PathUnescape(r.URL.EscapedPath())
	if err != nil {
		path = r.URL.Path
	}
	req.path = path
	if m := apiPath.FindStringSubmatch(path); m != nil {
		req.format, req.rel = m[1], m[2]
	}
	if req.rel == "" {
		req.rel = "/"
	}
	entryLog := s.log.begin(s, req)
	ans := s.handle(req, entry)
	s.awaitKept()
	entryLog.end(s, req, ans)
	if ans.dropped {
		panic(http.ErrAbortHandler)
	}
	if ans.door != nil && isUpgrade(r) {
		s.serveConsole(w, r, ans.door)
		return
	}
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat)) // by the node's clock
	send(w, r, ans)
}

// handle goes the way of a request through pveproxy: headers, credentials,
// body, then the API.
func (s *Sim) handle(req *request, entry string) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := actor{Sim: s}
	if n := s.state.Nodes[entry]; n != nil && n.State != Online {
		return &answer{dropped: true} // nobody is there to answer
	}
	return guarded(func() *answer {
		fault := s.faults.match(s, req)
		if ans := fault.before(&a, req); ans != nil {
			return ans
		}
		ans := s.answerTo(&a, req, entry)
		ans.hangUp = ans.hangUp || s.recycled()
		return fault.after(&a, ans)
	})
}

// guarded answers nothing when the simulator is being closed meanwhile.
func guarded(handle func() *answer) (ans *answer) {
	defer func() {
		switch p := recover(); p.(type) {
		case nil:
		case interrupted:
			ans = &answer{dropped: true}
		default:
			panic(p)
		}
	}()
	return handle()
}

func (s *Sim) answerTo(a *actor, req *request, entry string) *answer {
	res, err := s.proxy(a, req, entry)
	if err == nil {
		ans := format(req.format, res, nil)
		ans.door = res.door
		return ans
	}
	var api *apiError
	if !errors.As(err, &api) {
		api = die("%v", err)
	}
	return format(req.format, nil, api)
}

// result is an answer's data with what stands beside it.
type result struct {
	data  any
	total *int
	door  *door
}

// proxy is pveproxy: it decides who asks, reads the body and calls the API.
func (s *Sim) proxy(a *actor, req *request, entry string) (*result, error) {
	switch req.method {
	case "GET", "POST", "PUT", "DELETE":
	default:
		return nil, emptyError(http.StatusNotImplemented, "method '%s' not available", req.method)
	}
	if te := req.http.TransferEncoding; len(te) > 0 {
		return nil, daemonError(http.StatusNotImplemented, "chunked transfer encoding not supported")
	}
	isAPI := strings.HasPrefix(req.path, "/api2")
	var who *access.Identity
	if isAPI {
		if req.format == "" {
			return nil, daemonError(http.StatusNotImplemented, "no such uri")
		}
		var err error
		if who, err = s.authenticate(a, req); err != nil {
			return nil, err
		}
		req.user = who.Name()
	}
	up, err := s.readBody(a, req)
	if err != nil {
		return nil, err
	}
	defer up.release(s)
	if !isAPI {
		return nil, daemonError(http.StatusInternalServerError, "no such file '%s'\n", req.path)
	}
	switch req.format {
	case "json", "extjs", "html", "htmljs", "png", "spiceconfig":
	default:
		return nil, daemonError(http.StatusNotImplemented, "no formatter for uri %s, %s", req.rel, req.format)
	}
	in, err := req.params(up)
	if err != nil {
		return nil, err
	}
	req.given = maps.Clone(in)
	return s.dispatch(a, req, who, entry, in, up)
}

// readBody takes the request's body; for uploads it returns the file.
func (s *Sim) readBody(a *actor, req *request) (*upload, error) {
	n := req.http.ContentLength
	if n <= 0 {
		return nil, nil
	}
	if req.method != "PUT" && req.method != "POST" {
		return nil, daemonError(http.StatusNotImplemented, "Unexpected content for method '%s'", req.method)
	}
	ctype := req.http.Header.Get("Content-Type")
	ct, boundary := parseContentType(ctype)
	if req.isUpload() {
		if boundary == "" || ct != "multipart/form-data" {
			return nil, daemonError(http.StatusInternalServerError, "upload 'Content-Type '%s' not implemented\n", ctype)
		}
		return s.receiveUpload(a, req, boundary)
	}
	if n > maxForm {
		return nil, daemonError(http.StatusNotImplemented, "for data too large")
	}
	if ct != "" && ct != "application/x-www-form-urlencoded" && ct != "application/json" {
		return nil, daemonError(http.StatusHTTPVersionNotSupported+1, "upload 'Content-Type '%s' not implemented", ctype)
	}
	var err error
	a.outside(func() { req.body, err = io.ReadAll(io.LimitReader(req.http.Body, maxForm+1)) })
	if err != nil {
		return nil, daemonError(http.StatusBadRequest, "read body: %v", err)
	}
	return nil, nil
}

// outside runs fn, which waits for the network, without the state's lock.
func (a *actor) outside(fn func()) {
	a.mu.Unlock()
	defer a.mu.Lock()
	fn()
}

// dispatch finds the endpoint, checks and calls it.
func (s *Sim) dispatch(a *actor, req *request, who *access.Identity, entry string, in map[string]any, up *upload) (*result, error) {
	ep, inPath := s.schema.Find(req.method, req.rel)
	if ep == nil {
		return nil, notImplemented(req.method, req.rel)
	}
	in, errs := schema.Merge(inPath, in)
	if len(errs) > 0 {
		return nil, badParams(errs)
	}
	if who.Token() && !ep.AllowToken {
		return nil, noTokens(req.rel)
	}
	if err := s.checkEndpoint(ep, who, in); err != nil {
		return nil, err
	}
	release, err := a.reach(ep, in, entry)
	if err != nil {
		return nil, err
	}
	defer release()
	params, errs := ep.Verify(in, noCPUModels)
	if len(errs) > 0 {
		return nil, badParams(errs)
	}
	c := &call{actor: *a, ep: ep, params: params, who: who, entry: entry, upload: up}
	h := s.routes[ep.Method+" "+ep.Path]
	if h == nil {
		h = s.fallback(ep)
	}
	if h == nil {
		return nil, coded(http.StatusNotImplemented, "Method '%s %s' not simulated", req.method, req.rel)
	}
	if err := a.needQuorum(ep, params, entry); err != nil {
		return nil, err
	}
	data, err := h(c)
	if err != nil {
		return nil, err
	}
	if ep.Method != "GET" {
		s.dirty()
	}
	return &result{data: data, total: c.total, door: c.door}, nil
}
