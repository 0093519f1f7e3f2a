package pve

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
)

// endpoints are the nodes that a client may talk to. It stays with the one that worked last.
type endpoints struct {
	all     []*url.URL
	current atomic.Int64
}

func newEndpoints(texts []string) (*endpoints, error) {
	e := &endpoints{}
	for _, text := range texts {
		u, err := parseEndpoint(text)
		if err != nil {
			return nil, err
		}
		e.all = append(e.all, u)
	}
	return e, nil
}

// order is all endpoints, the one that worked last first.
func (e *endpoints) order() []int {
	order := make([]int, len(e.all))
	first := int(e.current.Load())
	for i := range order {
		order[i] = (first + i) % len(order)
	}
	return order
}

// prefer remembers the endpoint that worked, and says whether that is a change.
func (e *endpoints) prefer(i int) bool { return e.current.Swap(int64(i)) != int64(i) }

func parseEndpoint(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		// url.Parse repeats its input, which may hold a password.
		return nil, fmt.Errorf("an endpoint is not a URL")
	case u.User != nil:
		return nil, fmt.Errorf("endpoint %s: credentials don't belong into it", u.Host)
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("endpoint %s: scheme %q is not https", u.Host, u.Scheme)
	case u.Hostname() == "":
		return nil, fmt.Errorf("endpoint %q has no host", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("endpoint %s: a query makes no sense here", u.Host)
	}
	if u.Port() == "" && u.Scheme == "https" {
		u.Host = net.JoinHostPort(u.Hostname(), "8006")
	}
	// Both https://pve:8006 and https://pve:8006/api2/json are meant in the same way; behind a
	// reverse proxy there may be more before it.
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/api2/json")
	return u, nil
}
