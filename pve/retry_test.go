package pve

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

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

func TestWritesAreNotTriedAgainWhateverTheAnswer(t *testing.T) {
	for _, status := range []int{500, 502, 503, 504, 595, 596, 599} {
		h := &recorder{answer: func(w http.ResponseWriter, _ seen) { w.WriteHeader(status) }}
		_, cfg := serve(t, h)
		if err := client(t, cfg).Call(t.Context(), "POST", "/x", nil, nil); err == nil || len(h.requests()) != 1 {
			t.Errorf("%d: %v after %d requests", status, err, len(h.requests()))
		}
	}
}

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

func TestALoginWithoutAnAnswerIsTriedAsOftenAsARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		tries := 0
		cfg := virtual(nil)
		cfg.Credentials, cfg.Logger = Password("root@pam", "secret"), slog.New(slog.NewTextHandler(&log, nil))
		cfg.RoundTripper = roundTripFunc(func(*http.Request) (*http.Response, error) {
			tries++
			return nil, errors.New("nobody is there")
		})
		_, err := client(t, cfg).Version(t.Context())
		var login *LoginError
		if !errors.As(err, &login) || login.User != "root@pam" || !errors.Is(err, ErrConnection) {
			t.Errorf("got %v", err)
		}
		if tries != 4 {
			t.Errorf("it was tried %d times, want 4", tries)
		}
		if n := strings.Count(log.String(), "no answer yet, trying again"); n != 1 {
			t.Errorf("that there is no answer is told %d times, want once:\n%s", n, &log)
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
	for failed, ms := range []int{1: 100, 2: 200, 3: 400, 4: 800, 5: 1000, 60: 1000} {
		top := time.Duration(ms) * time.Millisecond
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
