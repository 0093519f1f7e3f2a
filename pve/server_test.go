package pve

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// seen is a request as it arrived.
type seen struct {
	method, path string // path below /api2/json, as it was on the wire
	query, form  url.Values
	rawBody      string
	header       http.Header
}

func (s seen) String() string { return s.method + " " + s.path }

// recorder is a handler that remembers requests and answers them by a function.
type recorder struct {
	mu     sync.Mutex
	all    []seen
	answer func(w http.ResponseWriter, r seen)
}

func (h *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	s := seen{
		method: r.Method, path: strings.TrimPrefix(r.URL.EscapedPath(), "/api2/json"),
		query: r.URL.Query(), form: form, rawBody: string(body), header: r.Header.Clone(),
	}
	h.mu.Lock()
	h.all = append(h.all, s)
	h.mu.Unlock()
	h.answer(w, s)
}

func (h *recorder) requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, s := range h.all {
		out = append(out, s.String())
	}
	return out
}

func (h *recorder) count(request string) (n int) {
	for _, r := range h.requests() {
		if r == request {
			n++
		}
	}
	return n
}

// answerData answers 200 with data.
func answerData(w http.ResponseWriter, data any) {
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
}

// answerMessage answers as Proxmox does when something goes wrong.
func answerMessage(w http.ResponseWriter, status int, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"data": nil, "message": message + "\n"})
}

// drop closes the connection without an answer.
func drop(http.ResponseWriter, seen) { panic(http.ErrAbortHandler) }

// serve starts an HTTPS server, and gives a config that trusts it.
func serve(t testing.TB, h http.Handler) (*httptest.Server, Config) {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // tests break connections on purpose
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return server, Config{
		Endpoints: []string{server.URL}, Credentials: Token("ci@pve!t", "0b8c1d5e-token-secret"),
		TLS: TLS{CA: ca}, Proxy: NoProxy,
		Retry: Retry{Attempts: 3, Base: time.Millisecond, Max: 2 * time.Millisecond},
	}
}

// refused is the URL of an endpoint where nobody listens.
func refused(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "https://" + l.Addr().String()
}

func client(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// inMemory is a transport that hands requests to a handler, for tests in virtual time: no
// socket, no real waiting.
type inMemory struct {
	handler http.Handler
	latency time.Duration
}

func (m inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		req = req.Clone(req.Context())
		req.Body = http.NoBody
	}
	defer req.Body.Close()
	select {
	case <-req.Context().Done():
		return nil, req.Context().Err()
	case <-time.After(m.latency):
	}
	w := httptest.NewRecorder()
	failed := func() (err error) {
		defer func() {
			if r := recover(); r == any(http.ErrAbortHandler) {
				err = io.ErrUnexpectedEOF
			} else if r != nil {
				panic(r)
			}
		}()
		m.handler.ServeHTTP(w, req)
		return nil
	}()
	return w.Result(), failed
}

// virtual is a config for tests in virtual time.
func virtual(h http.Handler) Config {
	return Config{
		Endpoints: []string{"https://pve1"}, Credentials: Token("ci@pve!t", "0b8c1d5e-token-secret"),
		RoundTripper: inMemory{handler: h, latency: time.Millisecond}, Rand: func() float64 { return 0.5 },
	}
}

func contains(text, part string) bool { return strings.Contains(text, part) }
