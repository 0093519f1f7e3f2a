package pve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// gatekeeper is a Proxmox that hands out tickets and looks at them.
type gatekeeper struct {
	*recorder
	mu        sync.Mutex
	logins    int
	valid     map[string]bool // tickets
	password  string
	down      bool
	loginTime time.Duration
}

func newGatekeeper() *gatekeeper {
	g := &gatekeeper{valid: map[string]bool{}, password: "correct horse"}
	g.recorder = &recorder{answer: g.serve}
	return g
}

func (g *gatekeeper) serve(w http.ResponseWriter, r seen) {
	if r.String() == "POST /access/ticket" {
		time.Sleep(g.loginTime)
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.down {
			drop(w, r)
		}
		if r.form.Get("username") != "root@pam" || r.form.Get("password") != g.password {
			answerMessage(w, 401, "authentication failure")
			return
		}
		g.logins++
		ticket := fmt.Sprintf("PVE:root@pam:%08d::aB+/c==", g.logins)
		g.valid[ticket] = true
		answerData(w, map[string]any{
			"ticket": ticket, "username": "root@pam", "CSRFPreventionToken": fmt.Sprintf("csrf-of-%d", g.logins),
		})
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	cookie := r.header.Get("Cookie")
	if !g.valid[cookie[min(len(cookie), len("PVEAuthCookie=")):]] {
		w.WriteHeader(401)
		return
	}
	if r.method != "GET" && r.header.Get("CSRFPreventionToken") == "" {
		w.WriteHeader(401)
		return
	}
	answerData(w, nil)
}

func (g *gatekeeper) voidTickets() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.valid)
}

func (g *gatekeeper) client(t *testing.T) *Client {
	cfg := virtual(g)
	cfg.Credentials = Password("root@pam", "correct horse")
	return client(t, cfg)
}

func TestATokenIsSentAsProxmoxWantsIt(t *testing.T) {
	h := &recorder{answer: func(w http.ResponseWriter, _ seen) { answerData(w, nil) }}
	cfg := virtual(h)
	cfg.Credentials = Token("a;b@pve!t", "the-secret")
	if err := client(t, cfg).Call(t.Context(), "POST", "/nodes/pve1/x", nil, nil); err != nil {
		t.Fatal(err)
	}
	header := h.all[0].header
	if got := header.Get("Authorization"); got != "PVEAPIToken=a%3Bb@pve!t=the-secret" {
		t.Errorf("Authorization: %s", got)
	}
	if header.Get("Cookie") != "" || header.Get("CSRFPreventionToken") != "" {
		t.Errorf("more than the token was sent: %v", header)
	}
}

func TestAPasswordGivesATicketAndWritesCarryTheCSRFToken(t *testing.T) {
	g := newGatekeeper()
	c := g.client(t)
	if _, err := c.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.VM("pve1", 100).Start(t.Context(), StartOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"POST /access/ticket", "GET /version", "POST /nodes/pve1/qemu/100/status/start"}; !slices.Equal(g.requests(), want) {
		t.Fatalf("got %v", g.requests())
	}
	read, write := g.all[1].header, g.all[2].header
	if read.Get("CSRFPreventionToken") != "" || write.Get("CSRFPreventionToken") != "csrf-of-1" {
		t.Errorf("CSRF token: %q of the read, %q of the write", read.Get("CSRFPreventionToken"), write.Get("CSRFPreventionToken"))
	}
	if g.all[0].query.Encode() != "" {
		t.Error("the password travelled in the query")
	}
}

func TestConcurrentCallersShareOneLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGatekeeper()
		g.loginTime = time.Second
		c := g.client(t)
		first, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Version(first); !errors.Is(err, context.Canceled) {
				t.Errorf("the cancelled caller got %v", err)
			}
		})
		synctest.Wait()
		for range 20 {
			wg.Go(func() {
				if _, err := c.Version(t.Context()); err != nil {
					t.Errorf("another caller got %v", err)
				}
			})
		}
		synctest.Wait()
		cancel() // the one that started the login
		wg.Wait()
		if g.logins != 1 {
			t.Errorf("%d logins", g.logins)
		}
	})
}

func TestATicketIsRenewedWellBeforeItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGatekeeper()
		c := g.client(t)
		call := func() error { _, err := c.Version(t.Context()); return err }
		at := func(age time.Duration) { time.Sleep(age) }
		if err := call(); err != nil {
			t.Fatal(err)
		}
		at(59 * time.Minute)
		if err := call(); err != nil || g.logins != 1 {
			t.Fatalf("after 59 minutes: %d logins, %v", g.logins, err)
		}
		at(2 * time.Minute)
		if err := call(); err != nil || g.logins != 2 {
			t.Fatalf("after 61 minutes: %d logins, %v", g.logins, err)
		}
		// While logins fail, the old ticket is good for almost two hours.
		g.down = true
		at(110 * time.Minute)
		if err := call(); err != nil {
			t.Fatalf("the ticket was still good, but: %v", err)
		}
		before := g.count("POST /access/ticket")
		if err := call(); err != nil || g.count("POST /access/ticket") != before {
			t.Fatalf("a renewal that has just failed was tried again at once: %v", err)
		}
		at(6 * time.Minute)
		if err := call(); !errors.Is(err, ErrConnection) {
			t.Fatalf("the ticket is too old, but: %v", err)
		}
		g.down = false
		if err := call(); err != nil || g.logins != 3 {
			t.Fatalf("Proxmox is back: %d logins, %v", g.logins, err)
		}
	})
}

func TestAVoidTicketIsReplacedAndTheCallMadeOnceAgain(t *testing.T) {
	for _, call := range []string{"GET", "POST", "PUT", "DELETE"} {
		g := newGatekeeper()
		c := g.client(t)
		if _, err := c.Version(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.voidTickets()
		if err := c.Call(t.Context(), call, "/x", nil, nil); err != nil {
			t.Errorf("%s: %v", call, err)
		}
		if n := g.count(call + " /x"); n != 2 || g.logins != 2 {
			t.Errorf("%s: sent %d times, %d logins", call, n, g.logins)
		}
	}
}

func TestCredentialsThatAreWrongAreNotTriedForEver(t *testing.T) {
	g := newGatekeeper()
	cfg := virtual(g)
	cfg.Credentials = Password("root@pam", "wrong horse")
	_, err := client(t, cfg).Version(t.Context())
	if !errors.Is(err, ErrUnauthorized) || len(g.requests()) != 1 {
		t.Errorf("password: %v after %v", err, g.requests())
	}

	h := &recorder{answer: func(w http.ResponseWriter, _ seen) { w.WriteHeader(401) }}
	_, err = client(t, virtual(h)).Version(t.Context())
	if !errors.Is(err, ErrUnauthorized) || len(h.requests()) != 1 {
		t.Errorf("token: %v after %v", err, h.requests())
	}

	// A ticket that Proxmox gives and then never takes.
	odd := newGatekeeper()
	odd.recorder.answer = func(w http.ResponseWriter, r seen) {
		odd.serve(w, r)
		odd.voidTickets()
	}
	_, err = odd.client(t).Version(t.Context())
	if !errors.Is(err, ErrUnauthorized) || odd.count("GET /version") != 2 {
		t.Errorf("ticket: %v after %v", err, odd.requests())
	}
}

func TestAUserWithASecondFactorIsToldToUseAToken(t *testing.T) {
	h := &recorder{answer: func(w http.ResponseWriter, _ seen) {
		answerData(w, map[string]any{"ticket": "PVE:!tfa!x", "CSRFPreventionToken": "x", "NeedTFA": 1})
	}}
	cfg := virtual(h)
	cfg.Credentials = Password("root@pam", "correct horse")
	_, err := client(t, cfg).Version(t.Context())
	var e *Error
	if !errors.Is(err, ErrUnauthorized) || !errors.As(err, &e) || len(h.requests()) != 1 {
		t.Errorf("got %v after %v", err, h.requests())
	}
}

func TestCredentialsAreReplacedWhileRunning(t *testing.T) {
	good := map[string]bool{"PVEAPIToken=a@pve!t=one": true}
	h := &recorder{answer: func(w http.ResponseWriter, r seen) {
		if !good[r.header.Get("Authorization")] {
			w.WriteHeader(401)
			return
		}
		answerData(w, Version{Release: "9.2"})
	}}
	cfg := virtual(h)
	cfg.Credentials = Token("a@pve!t", "one")
	c := client(t, cfg)
	derived := c.With(Timeout(time.Second))
	next := Token("a@pve!t", "two")

	if _, err := c.Probe(t.Context(), next); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("a token that isn't there yet: %v", err)
	}
	if _, err := c.Version(t.Context()); err != nil {
		t.Errorf("the old one goes on: %v", err)
	}
	good = map[string]bool{"PVEAPIToken=a@pve!t=two": true}
	if v, err := c.Probe(t.Context(), next); err != nil || !v.AtLeast(9, 2) {
		t.Errorf("the new one: %v, %v", v, err)
	}
	if _, err := c.Version(t.Context()); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("a probe changes nothing by itself: %v", err)
	}
	if err := c.SetCredentials(next); err != nil {
		t.Fatal(err)
	}
	if _, err := derived.Version(t.Context()); err != nil {
		t.Errorf("the new one, through a client made by With: %v", err)
	}
	if err := c.SetCredentials(Password("root", "x")); err == nil {
		t.Error("a user without a realm was taken")
	}
}

func TestTokensAreReadInTheirUsualForms(t *testing.T) {
	for text, ok := range map[string]bool{
		"root@pam!ci=1-2-3":             true,
		"PVEAPIToken=root@pam!ci=1-2-3": true,
		" root@pam!ci=1-2-3\n":          true,
		"root@pam=1-2-3":                false,
		"root!ci=1-2-3":                 false,
		"root@pam!ci":                   false,
		"root@pam!ci=":                  false,
		"":                              false,
	} {
		c, err := ParseToken(text)
		if ok != (err == nil) || ok && (c.User() != "root@pam" || !c.IsToken() || c.secret.Reveal() != "1-2-3") {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
	if c := Token("a!b@pve!ci", "1-2-3"); c.User() != "a!b@pve" || c.String() != "token a!b@pve!ci" {
		t.Errorf("a user with an exclamation mark: %v of %v", c, c.User())
	}
}
