package pve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
)

func answering(data any) *recorder {
	return &recorder{answer: func(w http.ResponseWriter, _ seen) { answerData(w, data) }}
}

// two starts two servers and gives a config that trusts both.
func two(t *testing.T, a, b http.Handler) (first, second *httptest.Server, cfg Config) {
	first, cfg = serve(t, a)
	second, other := serve(t, b)
	cfg.TLS.CA = append(cfg.TLS.CA, other.TLS.CA...)
	cfg.Endpoints = []string{first.URL, second.URL}
	return first, second, cfg
}

func TestTheNextEndpointIsTakenAndKept(t *testing.T) {
	works := answering(nil)
	_, cfg := serve(t, works)
	good := cfg.Endpoints[0]
	cfg.Endpoints = []string{refused(t), good}
	var tried []string
	cfg.Observe = func(x Exchange) { tried = append(tried, x.Endpoint) }
	c := client(t, cfg)
	for _, method := range []string{"POST", "GET", "PUT"} {
		if err := c.Call(t.Context(), method, "/x", nil, nil); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
	}
	bad, _ := url.Parse(cfg.Endpoints[0])
	if len(tried) != 4 || tried[0] != bad.Host {
		t.Errorf("tried %v: the refusing one should have been tried once, at first", tried)
	}
}

func TestAWriteGoesElsewhereWhenTLSNeverStood(t *testing.T) {
	// The first endpoint takes connections and closes them: TLS fails, nothing was sent.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	works := answering(nil)
	_, cfg := serve(t, works)
	cfg.Endpoints = append([]string{"https://" + l.Addr().String()}, cfg.Endpoints...)
	if err := client(t, cfg).Call(t.Context(), "POST", "/x", nil, nil); err != nil || len(works.requests()) != 1 {
		t.Errorf("%v after %v", err, works.requests())
	}
}

func TestAWriteThatMayHaveBeenDoneIsNeverSentAgain(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		breaks, other := &recorder{answer: drop}, answering(nil)
		_, _, cfg := two(t, breaks, other)
		err := client(t, cfg).Call(t.Context(), method, "/nodes/pve1/qemu/100/clone", Params{"newid": 101}, nil)
		var e *Error
		if !errors.Is(err, ErrUnknownOutcome) || !errors.As(err, &e) || e.Sent != "newid=101" {
			t.Errorf("%s: got %v", method, err)
		}
		if len(breaks.requests()) != 1 || len(other.requests()) != 0 {
			t.Errorf("%s: sent to the first %d times, to the other %d times", method, len(breaks.requests()), len(other.requests()))
		}
	}
}

func TestAnAnswerThatBreaksOffLosesTheOutcome(t *testing.T) {
	h := &recorder{answer: func(w http.ResponseWriter, _ seen) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"data":"UPID:`)
	}}
	_, cfg := serve(t, h)
	c := client(t, cfg)
	if err := c.Call(t.Context(), "POST", "/x", nil, nil); !errors.Is(err, ErrUnknownOutcome) || len(h.requests()) != 1 {
		t.Errorf("write: %v after %v", err, h.requests())
	}
	if err := c.Call(t.Context(), "GET", "/x", nil, nil); !errors.Is(err, ErrConnection) || h.count("GET /x") != cfg.Retry.Attempts {
		t.Errorf("read: %v after %v", err, h.requests())
	}
}

func TestAnAnswerThatIsNotProxmoxLosesTheOutcomeOfAWrite(t *testing.T) {
	for _, body := range []string{"<html>Welcome to the hotel's network</html>", `{"data":{"a":1}}`, `[]`, ``} {
		h := &recorder{answer: func(w http.ResponseWriter, _ seen) { io.WriteString(w, body) }}
		_, cfg := serve(t, h)
		c := client(t, cfg)
		var upid UPID
		if err := c.Call(t.Context(), "POST", "/x", nil, &upid); !errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("write answered by %q: %v", body, err)
		}
		if err := c.Call(t.Context(), "GET", "/x", nil, &upid); !errors.Is(err, ErrUnknown) || h.count("GET /x") != 1 {
			t.Errorf("read answered by %q: %v after %v", body, err, h.requests())
		}
	}
}

func TestAReadGoesToTheNextEndpointAfterAnyBreak(t *testing.T) {
	breaks, other := &recorder{answer: drop}, answering(Version{Release: "8.4"})
	_, _, cfg := two(t, breaks, other)
	v, err := client(t, cfg).Version(t.Context())
	if err != nil || v.Major() != 8 || len(other.requests()) != 1 {
		t.Errorf("%v, %v", v, err)
	}
}

func TestAReverseProxyWithoutItsProxmoxIsPassedBy(t *testing.T) {
	gateway := &recorder{answer: func(w http.ResponseWriter, _ seen) { w.WriteHeader(502) }}
	works := answering(Version{Release: "9.2"})
	_, _, cfg := two(t, gateway, works)
	c := client(t, cfg)
	for range 2 {
		if _, err := c.Version(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(gateway.requests()) != 1 {
		t.Errorf("the gateway was asked %d times", len(gateway.requests()))
	}
}

func TestAllEndpointsAreNamedWhenNoneAnswers(t *testing.T) {
	_, cfg := serve(t, answering(nil))
	cfg.Endpoints = []string{refused(t), refused(t)}
	err := client(t, cfg).Call(t.Context(), "POST", "/x", nil, nil)
	if !errors.Is(err, ErrConnection) || errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("got %v", err)
	}
	for _, endpoint := range cfg.Endpoints {
		if u, _ := url.Parse(endpoint); !contains(err.Error(), u.Host) {
			t.Errorf("%v doesn't name %s", err, u.Host)
		}
	}
}

func TestAForeignTransportIsOnlyBelievedAboutDialling(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for _, c := range []struct {
		err  error
		want Kind
	}{
		{dial, ErrConnection},
		{errors.New("something"), ErrUnknownOutcome},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, ErrUnknownOutcome},
	} {
		cfg := virtual(nil)
		cfg.RoundTripper = roundTripFunc(func(*http.Request) (*http.Response, error) { return nil, c.err })
		if err := client(t, cfg).Call(t.Context(), "POST", "/x", nil, nil); !errors.Is(err, c.want) {
			t.Errorf("%v: got %v", c.err, err)
		}
	}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRequestsGoThroughAnHTTPProxy(t *testing.T) {
	h := answering(Version{Release: "9.2"})
	_, cfg := serve(t, h)
	var connects atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connects.Add(1)
		if r.Method != http.MethodConnect {
			t.Errorf("the proxy saw %s", r.Method)
		}
		up, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(502)
			return
		}
		down, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprint(down, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(up, down); up.Close() }()
		go func() { _, _ = io.Copy(down, bufio.NewReader(up)); down.Close() }()
	}))
	defer proxy.Close()
	u, _ := url.Parse(proxy.URL)
	cfg.Proxy = http.ProxyURL(u)
	if _, err := client(t, cfg).Version(t.Context()); err != nil || connects.Load() != 1 {
		t.Fatalf("%v after %d connects", err, connects.Load())
	}
	// A write whose proxy can't connect was certainly not sent.
	cfg.Endpoints = []string{refused(t)}
	if err := client(t, cfg).Call(t.Context(), "POST", "/x", nil, nil); !errors.Is(err, ErrConnection) || errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("got %v", err)
	}
}
