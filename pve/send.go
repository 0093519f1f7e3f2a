package pve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// perform makes the call, tries reads again, and returns an answer of status 2xx.
func (c *core) perform(ctx context.Context, r *request) (*answer, error) {
	for failed := 1; ; failed++ {
		ans, err := c.attempt(ctx, r)
		if err == nil || r.isWrite() || !retryable(err) || failed >= c.cfg.Retry.Attempts {
			return ans, err
		}
		if e := new(Error); !c.answered.Load() && errors.As(err, &e) && c.missed.CompareAndSwap(false, true) {
			c.cfg.Logger.Warn("pve: no answer yet, trying again", "error", e.Text)
		}
		pause := c.cfg.Retry.pause(failed, c.cfg.Rand())
		if ended := sleep(ctx, c.cfg.Clock, pause); ended != nil {
			return nil, fmt.Errorf("%w: %w", ended, err)
		}
	}
}

// attempt makes the call once; twice when the ticket was no good. Proxmox checks tickets before
// anything else, so a write that got a 401 wasn't done.
func (c *core) attempt(ctx context.Context, r *request) (*answer, error) {
	session := c.session.Load()
	for again := false; ; again = true {
		var auth authorization
		if r.login == nil {
			var err error
			if auth, err = session.authorize(ctx); err != nil {
				return nil, err
			}
		}
		if err := c.out.refuse(r); err != nil {
			return nil, err
		}
		if err := c.away.refuse(r); err != nil {
			return nil, err
		}
		ans, err := c.send(ctx, r, auth)
		if err != nil {
			if e := new(Error); ctx.Err() == nil && retryable(err) && errors.As(err, &e) {
				c.out.saw(e)
			}
			return nil, err
		}
		c.out.saw(nil)
		c.away.saw(r, ans.status)
		if ans.status == http.StatusUnauthorized && !again && r.login == nil && session.refused(auth) && r.upload.rewind() {
			continue
		}
		if ans.failed == nil {
			return ans, nil
		}
		e := ans.failed
		e.hide(r.secrets(auth))
		if e.Kind == ErrUnknownOutcome {
			e.Sent = r.form.summary(r.route)
		}
		return nil, e
	}
}

// send goes through the endpoints until one answers. A write goes to the next one only when the
// one before it certainly didn't get it.
func (c *core) send(ctx context.Context, r *request, auth authorization) (*answer, error) {
	var failures []error
	for _, i := range c.endpoints.order() {
		if check := r.options.before; check != nil && r.isWrite() {
			if err := check(ctx, c.cfg.Clock.Now().Sub(r.made)); err != nil {
				return nil, err
			}
		}
		ans, err := c.exchange(ctx, i, r, auth)
		if err == nil {
			c.answered.Store(true)
			if isGateway(ans.status) {
				// A reverse proxy without its Proxmox: next time, somebody else.
				c.endpoints.prefer((i + 1) % len(c.endpoints.all))
			} else if c.endpoints.prefer(i) {
				c.cfg.Logger.Warn("pve: changed to another endpoint", "endpoint", c.endpoints.all[i].Host)
			}
			return ans, nil
		}
		var l *lost
		if !errors.As(err, &l) {
			l = &lost{err, true}
		}
		failures = append(failures, fmt.Errorf("%s: %w", c.endpoints.all[i].Host, l.err))
		switch {
		case r.isWrite() && l.sent:
			return nil, c.lostError(r, ErrUnknownOutcome, l.err, auth)
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%s %s: %w", r.method, r.path, context.Cause(ctx))
		case errors.Is(l.err, errTooLarge), !r.upload.rewind():
			// There is no point in asking somebody else.
			return nil, c.lostError(r, ErrConnection, l.err, auth)
		}
	}
	return nil, c.lostError(r, ErrConnection, joined(failures), auth)
}

func (c *core) lostError(r *request, kind Kind, cause error, auth authorization) *Error {
	e := &Error{Kind: kind, Method: r.method, Path: r.path, Text: cause.Error(), Err: cause}
	if kind == ErrUnknownOutcome {
		e.Sent = r.form.summary(r.route)
	}
	if errors.Is(cause, errTooLarge) && kind == ErrConnection {
		e.Kind = ErrUnknown
	}
	e.hide(r.secrets(auth))
	return e
}

// exchange sends the request to one endpoint and reads the answer. Any error is a *lost.
func (c *core) exchange(ctx context.Context, endpoint int, r *request, auth authorization) (*answer, error) {
	limit := cmp.Or(r.options.timeout, c.cfg.Timeout)
	if r.upload != nil {
		limit = r.options.timeout
	}
	limited, cancel := withTimeout(ctx, limit)
	defer cancel()

	base := c.endpoints.all[endpoint]
	req, err := r.build(limited, base)
	if err != nil {
		return nil, &lost{err, false}
	}
	auth.apply(req.Header, isWrite(r.method))

	start := time.Now()
	ans, err := c.roundTrip(req)
	if err == nil && ans.status/100 != 2 {
		ans.failed = answerError(r.method, r.path, ans.status, ans.reason, ans.body)
	}
	var l *lost
	if errors.As(err, &l) && r.upload.incomplete() {
		l.sent = false
	}
	c.record(ctx, r, base.Host, time.Since(start), ans, err, auth)
	return ans, err
}

// record writes the log and tells the observer.
func (c *core) record(ctx context.Context, r *request, host string, took time.Duration, ans *answer, err error, auth authorization) {
	x := Exchange{Method: r.method, Route: r.route, Endpoint: host, Duration: took}
	attrs := []slog.Attr{
		slog.String("method", r.method), slog.String("path", r.path), slog.String("endpoint", host),
		slog.Duration("took", took.Round(time.Millisecond)), slog.Any("params", loggedForm{r.form, r.route}),
	}
	switch {
	case err != nil:
		x.Kind = ErrConnection
		attrs = append(attrs, slog.String("error", scrub(err.Error(), r.secrets(auth))))
	default:
		x.Status = ans.status
		if ans.failed != nil {
			x.Kind = ans.failed.Kind
		}
		attrs = append(attrs, slog.Int("status", ans.status), slog.String("reason", scrub(ans.reason, r.secrets(auth))))
	}
	c.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "pve request", attrs...)
	c.cfg.Observe(x)
}

// joined is several errors in one line.
func joined(errs []error) error {
	if len(errs) == 1 {
		return errors.Unwrap(errs[0])
	}
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return &joinedError{strings.Join(texts, "; "), errs}
}

type joinedError struct {
	text string
	errs []error
}

func (e *joinedError) Error() string   { return e.text }
func (e *joinedError) Unwrap() []error { return e.errs }

// hide removes secrets from all that Proxmox said.
func (e *Error) hide(secrets []string) {
	e.Text, e.Reason = scrub(e.Text, secrets), scrub(e.Reason, secrets)
	for name, text := range e.Fields {
		e.Fields[name] = scrub(text, secrets)
	}
}
