package pve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
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

func TestReadsAreTriedAgainWithinBounds(t *testing.T) {
	for _, c := range []struct {
		status int
		tries  int
		kind   Kind
	}{
		{502, 3, ErrConnection},
		{503, 3, ErrConnection},
		{504, 3, ErrConnection},
		{595, 3, ErrNodeUnreachable},
		{596, 3, ErrNodeUnreachable},
		{599, 3, ErrNodeUnreachable},
		{500, 1, ErrLocked},
		{403, 1, ErrForbidden},
		{400, 1, ErrLocked},
		{501, 1, ErrNotImplemented},
	} {
		h := &recorder{answer: func(w http.ResponseWriter, _ seen) { answerMessage(w, c.status, "VM is locked (backup)") }}
		_, cfg := serve(t, h)
		_, err := client(t, cfg).Version(t.Context())
		if !errors.Is(err, c.kind) || len(h.requests()) != c.tries {
			t.Errorf("%d: %v after %d tries", c.status, err, len(h.requests()))
		}
	}
}

func TestAReadThatWorksInTheEndIsASuccess(t *testing.T) {
	var n atomic.Int32
	h := &recorder{answer: func(w http.ResponseWriter, r seen) {
		switch n.Add(1) {
		case 1:
			drop(w, r)
		case 2:
			w.WriteHeader(596)
		default:
			answerData(w, Version{Release: "9.2"})
		}
	}}
	_, cfg := serve(t, h)
	if v, err := client(t, cfg).Version(t.Context()); err != nil || v.Major() != 9 {
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

func TestWritesAreNotTriedAgainWhateverTheAnswer(t *testing.T) {
	for _, status := range []int{500, 502, 503, 504, 595, 596, 599} {
		h := &recorder{answer: func(w http.ResponseWriter, _ seen) { w.WriteHeader(status) }}
		_, cfg := serve(t, h)
		if err := client(t, cfg).Call(t.Context(), "POST", "/x", nil, nil); err == nil || len(h.requests()) != 1 {
			t.Errorf("%d: %v after %d requests", status, err, len(h.requests()))
		}
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

func TestARequestThatGetsNoAnswerEndsAtItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := virtual(nil)
		cfg.Timeout = 10 * time.Second
		cfg.RoundTripper = roundTripFunc(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, context.Cause(r.Context())
		})
		c := client(t, cfg)
		start := time.Now()
		err := c.Call(t.Context(), "POST", "/x", nil, nil)
		if !errors.Is(err, ErrUnknownOutcome) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Second {
			t.Errorf("write: %v after %v", err, time.Since(start))
		}
		start = time.Now()
		err = c.With(Timeout(time.Second)).Call(t.Context(), "GET", "/x", nil, nil)
		if !errors.Is(err, ErrConnection) || time.Since(start) < 4*time.Second || time.Since(start) > 10*time.Second {
			t.Errorf("read: %v after %v", err, time.Since(start))
		}
	})
}

func TestTheCallersContextEndsACallAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := virtual(nil)
		cfg.RoundTripper = roundTripFunc(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, context.Cause(r.Context())
		})
		c := client(t, cfg)
		for method, unknown := range map[string]bool{"GET": false, "POST": true} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start := time.Now()
			err := c.Call(ctx, method, "/x", nil, nil)
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
				t.Errorf("%s: %v after %v", method, err, time.Since(start))
			}
			if errors.Is(err, ErrUnknownOutcome) != unknown || errors.Is(err, ErrConnection) {
				t.Errorf("%s: wrong kind: %v", method, err)
			}
			cancel()
			if err := c.Call(ctx, method, "/x", nil, nil); errors.Is(err, ErrUnknownOutcome) {
				t.Errorf("%s: with a context that had ended: %v", method, err)
			}
		}
	})
}

func TestAPauseBetweenTriesEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := virtual(&recorder{answer: func(w http.ResponseWriter, _ seen) { w.WriteHeader(595) }})
		cfg.Retry = Retry{Attempts: 5, Base: time.Hour, Max: time.Hour}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := client(t, cfg).Version(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNodeUnreachable) {
			t.Errorf("got %v", err)
		}
	})
}

func TestPausesDoubleAndJitterWithinBounds(t *testing.T) {
	r := Retry{Base: 100 * time.Millisecond, Max: time.Second}
	for failed, top := range []time.Duration{1: 100, 2: 200, 3: 400, 4: 800, 5: 1000, 60: 1000} {
		top *= time.Millisecond
		if top == 0 {
			continue
		}
		if low, high := r.pause(failed, 0), r.pause(failed, 0.999999); low != top/2 || high > top || high < top*99/100 {
			t.Errorf("after %d failures: %v to %v, want half of %v to all of it", failed, low, high, top)
		}
	}
}

func TestAnAnswerIsReadUpToItsLimitOnly(t *testing.T) {
	h := &recorder{answer: func(w http.ResponseWriter, _ seen) { answerData(w, string(make([]byte, 100_000))) }}
	_, cfg := serve(t, h)
	cfg.MaxAnswer = 10_000
	c := client(t, cfg)
	if err := c.Call(t.Context(), "GET", "/x", nil, nil); !errors.Is(err, ErrUnknown) || len(h.requests()) != 1 {
		t.Errorf("read: %v after %v", err, h.requests())
	}
	if err := c.Call(t.Context(), "POST", "/x", nil, nil); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("write: %v", err)
	}
}

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

func TestEndpointsAreReadInTheirUsualForms(t *testing.T) {
	for text, want := range map[string]string{
		"pve1":                             "https://pve1:8006",
		"pve1:443":                         "https://pve1:443",
		"https://pve1":                     "https://pve1:8006",
		"https://pve1:8006/":               "https://pve1:8006",
		"https://pve1:8006/api2/json":      "https://pve1:8006",
		"https://gw.test:443/a/api2/json/": "https://gw.test:443/a",
		"[fd00::1]":                        "https://[fd00::1]:8006",
		" 10.0.0.1 ":                       "https://10.0.0.1:8006",
		"https://root:pw@pve1":             "",
		"ftp://pve1":                       "",
		"https://":                         "",
		"https://pve1?x=1":                 "",
		"https://pve 1":                    "",
	} {
		u, err := parseEndpoint(text)
		if (err == nil) != (want != "") || err == nil && u.String() != want {
			t.Errorf("%q: %v, %v", text, u, err)
		}
		if err != nil && contains(err.Error(), "pw") {
			t.Errorf("%q: the error tells the password: %v", text, err)
		}
	}
	for _, cfg := range []Config{
		{Credentials: Token("a@pve!b", "c")},
		{Endpoints: []string{"http://pve1"}, Credentials: Token("a@pve!b", "c")},
		{Endpoints: []string{"pve1"}},
		{Endpoints: []string{"pve1"}, Credentials: Token("a@pve!b", "c"), Timeout: -1},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}

func TestWritesPutTheirParametersInTheBody(t *testing.T) {
	h := answering(nil)
	_, cfg := serve(t, h)
	c := client(t, cfg)
	params := Params{"a": "1&2=3;4 5+ä", "b": 7}
	for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
		if err := c.Call(t.Context(), method, "/nodes/pve1/x+y", params, nil); err != nil {
			t.Fatal(err)
		}
		got := h.all[len(h.all)-1]
		where, elsewhere := got.query, got.rawBody
		if method == "POST" || method == "PUT" {
			where, elsewhere = got.form, got.query.Encode()
		}
		if where.Get("a") != params["a"] || where.Get("b") != "7" || elsewhere != "" || got.path != "/nodes/pve1/x%2By" {
			t.Errorf("%s: got %+v", method, got)
		}
	}
	for _, method := range []string{"GET", "DELETE"} {
		err := c.Call(t.Context(), method, "/x", Params{"password": "p"}, nil)
		if !errors.Is(err, ErrInvalid) || len(h.all) != 4 {
			t.Errorf("%s with a secret: %v", method, err)
		}
	}
	if err := c.Call(t.Context(), "PATCH", "/x", nil, nil); err == nil {
		t.Error("PATCH was sent")
	}
}
