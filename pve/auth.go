package pve

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// Proxmox' tickets live for two hours. Renewing them at half of that leaves an hour in which
	// logins may fail before anything else does.
	ticketRenew = time.Hour
	// Within the last minutes a ticket isn't used any more: clocks differ.
	ticketLife = 2*time.Hour - 5*time.Minute
	// A login that failed while the ticket was still good isn't tried again at once.
	ticketRetry = time.Minute
)

// session turns credentials into headers. It holds the ticket of a user with a password, and
// makes sure that many callers cause one login.
type session struct {
	creds Credentials
	clock Clock
	// login asks Proxmox for a ticket.
	login func(ctx context.Context, creds Credentials) (*ticket, error)

	mu      sync.Mutex
	ticket  *ticket
	retryAt time.Time // no renewal before this
	pending *pendingLogin
}

// LoginError says that Proxmox gave no ticket for a user's password. It was tried as often as
// [Retry] says.
type LoginError struct {
	User string
	Err  error
}

func (e *LoginError) Error() string { return fmt.Sprintf("log in as %s: %v", e.User, e.Err) }
func (e *LoginError) Unwrap() error { return e.Err }

type ticket struct {
	cookie Secret
	csrf   Secret
	made   time.Time
}

type pendingLogin struct {
	done chan struct{}
	err  error
}

// authorization is what a request carries.
type authorization struct {
	token  Secret
	ticket *ticket
}

// authorize gives the current authorization, after a login if need be.
func (s *session) authorize(ctx context.Context) (authorization, error) {
	if s.creds.IsToken() {
		id := s.creds.user + "!" + s.creds.token + "=" + s.creds.secret.Reveal()
		return authorization{token: NewSecret(id)}, nil
	}
	for {
		s.mu.Lock()
		now := s.clock.Now()
		fresh := s.ticket != nil && now.Sub(s.ticket.made) < ticketRenew
		usable := s.ticket != nil && now.Sub(s.ticket.made) < ticketLife
		if fresh || usable && now.Before(s.retryAt) {
			defer s.mu.Unlock()
			return authorization{ticket: s.ticket}, nil
		}
		pending := s.pending
		if pending == nil {
			pending = s.startLogin(ctx)
		}
		s.mu.Unlock()

		select {
		case <-ctx.Done():
			return authorization{}, context.Cause(ctx)
		case <-pending.done:
		}
		if pending.err != nil && !usable {
			return authorization{}, pending.err
		}
	}
}

// startLogin logs in for everybody who waits. The first caller's end doesn't end it: the others
// still want the ticket.
func (s *session) startLogin(ctx context.Context) *pendingLogin {
	p := &pendingLogin{done: make(chan struct{})}
	s.pending = p
	go func() {
		t, err := s.login(context.WithoutCancel(ctx), s.creds)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			s.ticket = t
		} else {
			p.err = err
			s.retryAt = s.clock.Now().Add(ticketRetry)
		}
		s.pending = nil
		close(p.done)
	}()
	return p
}

// refused is called when Proxmox didn't take an authorization. It says whether another try
// makes sense: a ticket may have been made void by a restart, a token stays wrong.
func (s *session) refused(auth authorization) bool {
	if auth.ticket == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ticket == auth.ticket {
		s.ticket = nil
	}
	return true
}

// apply sets the headers of a request.
func (a authorization) apply(h http.Header, write bool) {
	switch {
	case !a.token.IsZero():
		h.Set("Authorization", "PVEAPIToken="+headerValue(a.token.Reveal()))
	case a.ticket != nil:
		h.Set("Cookie", "PVEAuthCookie="+headerValue(a.ticket.cookie.Reveal()))
		if write {
			h.Set("CSRFPreventionToken", a.ticket.csrf.Reveal())
		}
	}
}

// secrets are what must not appear in any text.
func (a authorization) secrets() []string {
	if a.ticket != nil {
		return []string{a.ticket.cookie.Reveal(), a.ticket.csrf.Reveal()}
	}
	_, secret, _ := strings.Cut(a.token.Reveal(), "=")
	return []string{secret}
}

// headerValue escapes what ends a value for Proxmox: it cuts at ; and then unescapes.
func headerValue(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c == ';' || c == '%' || c <= ' ' || c >= 0x7f {
			escape(&b, text[i:i+1])
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
