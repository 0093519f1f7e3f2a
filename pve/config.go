package pve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/proxplane/proxplane/pve/admission"
)

// Config says which cluster a [Client] talks to, and how. Endpoints and Credentials are needed,
// everything else has a default.
type Config struct {
	// Endpoints are nodes of one cluster: "https://pve1:8006", "pve1:8006" or just "pve1".
	// The first one that works is used until it fails.
	Endpoints []string

	Credentials Credentials

	TLS TLS

	// Proxy chooses the HTTP proxy, as in [http.Transport]. Nil means the environment's
	// HTTPS_PROXY and NO_PROXY; see [NoProxy] and [http.ProxyURL].
	Proxy func(*http.Request) (*url.URL, error)

	// Timeout bounds one exchange of a request and its answer, uploads apart. Default: one
	// minute, since Proxmox gives up on its own after 30 seconds.
	Timeout time.Duration

	// DialTimeout bounds making a connection, TLS handshake included. Default: 10 seconds.
	DialTimeout time.Duration

	// Retry bounds how often reads are tried.
	Retry Retry

	// MaxAnswer is the largest answer that is read, in bytes. Default: 64 MiB.
	MaxAnswer int64

	// Limiter bounds requests in flight per node and per storage; a write keeps its place until
	// its task is seen to end. Several clients of one cluster may share it, if each follows the
	// tasks that it starts. Nil means a new one.
	Limiter *admission.Limiter

	// Clock is what waiting goes by: polling of tasks, pauses between tries, age of tickets.
	// Limits of network operations always go by package time. Nil means real time.
	Clock Clock

	// Rand gives numbers in [0,1) for jitter. Nil means package math/rand/v2.
	Rand func() float64

	// RoundTripper replaces the HTTP transport; TLS, Proxy, DialContext and DialTimeout are
	// then without effect. It must not retry or follow redirects by itself.
	RoundTripper http.RoundTripper

	// DialContext replaces the dialer, e.g. to stay in memory or to go through a tunnel.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)

	// Logger gets a debug record of each exchange, with secrets redacted, and warnings about
	// endpoints that fail. Nil means no logging.
	Logger *slog.Logger

	// Observe is called after each exchange, for metrics. It must be quick and may be called
	// concurrently.
	Observe func(Exchange)
}

// Retry bounds the tries of a read. Writes are never retried.
type Retry struct {
	// Attempts is the number of tries, the first one included. Default: 4.
	Attempts int
	// Base is the pause after the first try; it doubles with each further one. Default: 200 ms.
	Base time.Duration
	// Max is the longest pause. Default: 5 s.
	Max time.Duration
}

// Exchange describes one request and its answer, for metrics.
type Exchange struct {
	Method   string
	Route    string // path with placeholders: /nodes/{node}/qemu/{vmid}/config
	Endpoint string
	Status   int  // 0 when there was no answer
	Kind     Kind // empty when it worked
	Duration time.Duration
}

// Clock is the time that a client waits by.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// NoProxy returns a Config.Proxy that always connects directly.
func NoProxy(*http.Request) (*url.URL, error) { return nil, nil }

type realClock struct{}

func (realClock) Now() time.Time                         { return time.Now() }
func (realClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// sleep waits for d on the clock, or until ctx ends.
func sleep(ctx context.Context, clock Clock, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-clock.After(d):
		return nil
	}
}

func (cfg Config) withDefaults() Config {
	defaultTo(&cfg.Timeout, time.Minute)
	defaultTo(&cfg.DialTimeout, 10*time.Second)
	defaultTo(&cfg.MaxAnswer, 64<<20)
	defaultTo(&cfg.Retry.Attempts, 4)
	defaultTo(&cfg.Retry.Base, 200*time.Millisecond)
	defaultTo(&cfg.Retry.Max, 5*time.Second)
	if cfg.Clock == nil {
		cfg.Clock = realClock{}
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Float64
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observe == nil {
		cfg.Observe = func(Exchange) {}
	}
	if cfg.Proxy == nil {
		cfg.Proxy = http.ProxyFromEnvironment
	}
	return cfg
}

func defaultTo[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (cfg Config) validate() error {
	if len(cfg.Endpoints) == 0 {
		return errors.New("no endpoint given")
	}
	for name, d := range map[string]time.Duration{
		"Timeout": cfg.Timeout, "DialTimeout": cfg.DialTimeout, "Retry.Base": cfg.Retry.Base, "Retry.Max": cfg.Retry.Max,
	} {
		if d < 0 {
			return fmt.Errorf("%s is negative", name)
		}
	}
	if cfg.Retry.Attempts < 0 || cfg.MaxAnswer < 0 {
		return errors.New("Retry.Attempts and MaxAnswer can't be negative")
	}
	return cfg.Credentials.validate()
}
