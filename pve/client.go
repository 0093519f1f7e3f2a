package pve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/proxplane/proxplane/pve/admission"
)

// Client talks to one Proxmox cluster. It is safe for use by many goroutines; make one and
// share it, since its users share connections, the login and the limiter.
type Client struct {
	core    *core
	options callOptions
}

// core is what a client and those made of it by With have in common.
type core struct {
	cfg       Config
	endpoints *endpoints
	transport http.RoundTripper
	session   atomic.Pointer[session]
	answered  atomic.Bool // somebody has, at least once
	missed    atomic.Bool // that nobody has was told
	gate      *gate
	away      *absence
	out       *outage
	looks     *allowance
	ahead     atomic.Int64 // by how many nanoseconds Proxmox' clock is ahead of ours
}

// New makes a client. It doesn't connect yet.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	eps, err := newEndpoints(cfg.Endpoints)
	if err != nil {
		return nil, err
	}
	for _, u := range eps.all {
		if u.Scheme == "http" && !cfg.TLS.Insecure {
			return nil, fmt.Errorf("endpoint %s has no TLS: write https, or ask for it as insecure", u.Host)
		}
	}
	transport, err := newTransport(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Limiter == nil {
		cfg.Limiter = admission.New(admission.Config{Now: cfg.Clock.Now})
	}
	c := &core{cfg: cfg, endpoints: eps, transport: transport, out: &outage{clock: cfg.Clock}}
	c.gate, c.away, c.looks = newGate(cfg.Limiter, cfg.Clock), newAbsence(cfg.Clock), &allowance{left: looksAtOnce, at: cfg.Clock.Now()}
	c.session.Store(c.newSession(cfg.Credentials))
	return &Client{core: c}, nil
}

// Close closes idle connections, and no longer counts tasks that are under way: others that
// share the load would wait for them. The client can be used on.
func (c *Client) Close() {
	c.core.gate.abandon()
	if t, ok := c.core.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Endpoints returns the URLs of all endpoints, in full.
func (c *Client) Endpoints() []string {
	list := make([]string, len(c.core.endpoints.all))
	for i, u := range c.core.endpoints.all {
		list[i] = u.String()
	}
	return list
}

// Endpoint returns the URL of the endpoint that answered last; before that, of the first one.
func (c *Client) Endpoint() string {
	return c.core.endpoints.all[c.core.endpoints.order()[0]].String()
}

// Answered reports whether an endpoint has answered at least once.
func (c *Client) Answered() bool { return c.core.answered.Load() }

// Option changes how calls are made; see [Client.With].
type Option func(*callOptions)

type callOptions struct {
	timeout time.Duration
	storage string
	before  func(ctx context.Context, waited time.Duration) error
}

// Timeout bounds each exchange, instead of Config.Timeout. For uploads it bounds the whole.
func Timeout(d time.Duration) Option { return func(o *callOptions) { o.timeout = d } }

// OnStorage sets which storage writes keep busy, where the call itself doesn't show it: the one of
// a linked clone's template, or of a disk that grows. What is shared has one bound in the whole
// cluster, what isn't has one on each node.
func OnStorage(name string, shared bool) Option {
	return func(o *callOptions) {
		o.storage = name
		if !shared {
			o.storage = localStorage + name
		}
	}
}

// Before makes a write call check right before it is sent, each time that it is: when it has got its
// turn, which may take as long as the tasks of other writes, and again when another endpoint is
// tried. It gets to know how long the write has waited since the call was made. A write whose
// check fails isn't sent, and the error is that of the check. The check may read with any client.
// Of several checks all are made, in the order in which they were given.
func Before(check func(ctx context.Context, waited time.Duration) error) Option {
	return func(o *callOptions) {
		first := o.before
		o.before = func(ctx context.Context, waited time.Duration) error {
			if first != nil {
				if err := first(ctx, waited); err != nil {
					return err
				}
			}
			return check(ctx, waited)
		}
	}
}

// With gives a client whose calls are made with these options. It shares everything with c.
func (c *Client) With(options ...Option) *Client {
	derived := *c
	for _, option := range options {
		option(&derived.options)
	}
	return &derived
}

// Root reports whether calls are made as root@pam, logged in with its password. Some options of VMs
// can't be set by anybody else, not even by root's tokens.
func (c *Client) Root() bool {
	creds := c.core.session.Load().creds
	return creds.User() == "root@pam" && !creds.IsToken()
}

// TokenID returns the token that calls are made with, as tasks name it: user@realm!token. It is empty
// for those who log in with a password.
func (c *Client) TokenID() string {
	if creds := c.core.session.Load().creds; creds.IsToken() {
		return creds.user + "!" + creds.token
	}
	return ""
}

// SetCredentials replaces the credentials for all further calls, of clients made by With too.
// It doesn't try them: use [Client.Probe] first.
func (c *Client) SetCredentials(creds Credentials) error {
	if err := creds.validate(); err != nil {
		return fmt.Errorf("pve: %w", err)
	}
	c.core.session.Store(c.core.newSession(creds))
	return nil
}

// Probe tries credentials without using them for anything else: it logs in where needed and
// reads the version. The error is ErrUnauthorized when they are no good.
func (c *Client) Probe(ctx context.Context, creds Credentials) (Version, error) {
	if err := creds.validate(); err != nil {
		return Version{}, fmt.Errorf("pve: %w", err)
	}
	with := &core{cfg: c.core.cfg, endpoints: c.core.endpoints, transport: c.core.transport, gate: c.core.gate, away: c.core.away, out: c.core.out, looks: c.core.looks}
	with.session.Store(c.core.newSession(creds))
	return (&Client{core: with, options: c.options}).Version(ctx)
}

// Call makes any call of the API. The path is below /api2/json, not escaped and without a
// query; out, if not nil, is a pointer to what the answer's data is decoded to, by json tags and
// as tolerantly as for all other calls. Parameters of GET and DELETE travel in the query, so
// secrets are refused there.
func (c *Client) Call(ctx context.Context, method, path string, params Params, out any) error {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete:
	default:
		return fmt.Errorf("pve: method %q is not one of Proxmox'", method)
	}
	if v := reflect.ValueOf(out); out != nil && (v.Kind() != reflect.Pointer || v.IsNil()) {
		return fmt.Errorf("pve: the answer can't go to a %T: it needs a pointer", out)
	}
	return c.do(ctx, &request{method: method, route: path, literal: true, params: params, out: out})
}

// ask makes a call and gives its result.
func ask[T any](ctx context.Context, c *Client, r request) (T, error) {
	var out, zero T
	r.out = &out
	if err := c.do(ctx, &r); err != nil {
		return zero, err
	}
	return out, nil
}

func get[T any](ctx context.Context, c *Client, params any, route string, args ...any) (T, error) {
	return ask[T](ctx, c, request{method: http.MethodGet, route: route, args: args, params: params})
}

func post[T any](ctx context.Context, c *Client, params any, route string, args ...any) (T, error) {
	return ask[T](ctx, c, request{method: http.MethodPost, route: route, args: args, params: params})
}

func put[T any](ctx context.Context, c *Client, params any, route string, args ...any) (T, error) {
	return ask[T](ctx, c, request{method: http.MethodPut, route: route, args: args, params: params})
}

func del[T any](ctx context.Context, c *Client, params any, route string, args ...any) (T, error) {
	return ask[T](ctx, c, request{method: http.MethodDelete, route: route, args: args, params: params})
}

// tell makes a call that has no result.
func tell(ctx context.Context, c *Client, method string, params any, route string, args ...any) error {
	return c.do(ctx, &request{method: method, route: route, args: args, params: params})
}

// do is the one way that every call takes.
func (c *Client) do(ctx context.Context, r *request) error {
	r.options, r.made = c.options, c.core.cfg.Clock.Now()
	if err := r.prepare(); err != nil {
		return &Error{Kind: ErrInvalid, Method: r.method, Path: r.route, Text: err.Error(), Err: err}
	}
	slot, err := c.core.gate.enter(ctx, c, r)
	if err != nil {
		return fmt.Errorf("%s %s: waiting for a turn: %w", r.method, r.path, err)
	}
	ans, err := c.core.perform(ctx, r)
	if err == nil {
		err = r.finish(ans)
	}
	slot.leave(r, err)
	return err
}

func (c *core) newSession(creds Credentials) *session {
	return &session{creds: creds, clock: c.cfg.Clock, login: c.login}
}

// login gets a ticket. It is a POST that changes nothing, so it may be repeated.
func (c *core) login(ctx context.Context, creds Credentials) (*ticket, error) {
	made := c.cfg.Clock.Now()
	var data Ticket
	r := &request{
		method: http.MethodPost, route: "/access/ticket", login: &creds, out: &data,
		params: ticketParams{creds.user, creds.secret},
	}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	ans, err := c.perform(ctx, r)
	if err != nil {
		return nil, &LoginError{User: creds.user, Err: err}
	}
	switch err = r.decode(ans); {
	case err != nil:
	case data.Ticket.IsZero():
		err = errors.New("the answer has no ticket")
	case data.NeedsTFA:
		err = errors.New("this user has a second factor: use an API token")
	}
	if err != nil {
		return nil, &LoginError{User: creds.user, Err: &Error{
			Kind: ErrUnauthorized, Method: r.method, Path: r.path, Status: ans.status, Text: err.Error(), Err: err,
		}}
	}
	return &ticket{cookie: data.Ticket, csrf: data.CSRFToken, made: made}, nil
}
