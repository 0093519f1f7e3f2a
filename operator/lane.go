package operator

import (
	"net/http"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
)

// lane lets a few events at a time through to Kubernetes. Ten come with each new
// machine, and they are for people: what machines need doesn't wait behind them.
type lane struct {
	turns   chan struct{}
	waiting atomic.Int64
}

// Of so many events that wait for their turn those are left out that say the least:
// first that a step was begun, which its end says as well, then all but warnings.
const (
	laneWidth   = 4
	laneBusy    = 100
	laneFlooded = 2000
)

func newLane() *lane { return &lane{turns: make(chan struct{}, laneWidth)} }

// wrap is for [rest.Config].
func (l *lane) wrap(next http.RoundTripper) http.RoundTripper { return laned{l, next} }

// laned is a way to Kubernetes.
type laned struct {
	*lane
	next http.RoundTripper
}

// RoundTrip makes a request.
func (l laned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || !strings.Contains(r.URL.Path, "/events") {
		return l.next.RoundTrip(r)
	}
	l.waiting.Add(1)
	l.turns <- struct{}{}
	l.waiting.Add(-1)
	defer func() { <-l.turns }()
	return l.next.RoundTrip(r)
}

// takes tells whether an event is worth its turn now.
func (l *lane) takes(kind, reason string) bool {
	n := l.waiting.Load()
	return kind == corev1.EventTypeWarning || n < laneBusy || n < laneFlooded && reason != EventBegun
}
