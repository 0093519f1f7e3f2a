package operator

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A Kubernetes that takes its time with events takes everything else at once.
func TestAFloodOfEventsHoldsUpNothingElse(t *testing.T) {
	var under, most atomic.Int64
	open := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/events") {
			return
		}
		if n := under.Add(1); n > most.Load() {
			most.Store(n)
		}
		<-open
		under.Add(-1)
	}))
	defer server.Close()
	l := newLane()
	client := &http.Client{Transport: l.wrap(http.DefaultTransport)}
	post := func(path string) {
		res, err := client.Post(server.URL+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Error(err)
			return
		}
		res.Body.Close()
	}
	if !l.takes(corev1.EventTypeNormal, EventBegun) {
		t.Error("events are left out while there are none")
	}
	const flood = laneBusy + laneWidth
	var all sync.WaitGroup
	for range flood {
		all.Go(func() { post("/apis/events.k8s.io/v1/namespaces/x/events") })
	}
	for l.waiting.Load() < laneBusy {
		runtime.Gosched()
	}
	post("/apis/infra.virtrigaud.io/v1beta1/namespaces/x/virtualmachines/web/status")
	for _, c := range []struct {
		kind, reason string
		want         bool
	}{
		{corev1.EventTypeNormal, EventBegun, false},
		{corev1.EventTypeNormal, EventDone, true},
		{corev1.EventTypeWarning, EventFailed, true},
	} {
		if l.takes(c.kind, c.reason) != c.want {
			t.Errorf("%s is taken: %t", c.reason, !c.want)
		}
	}
	close(open)
	all.Wait()
	if n := most.Load(); n > laneWidth {
		t.Errorf("%d events were sent at once", n)
	}
	if n := l.waiting.Load(); n != 0 {
		t.Errorf("%d still wait", n)
	}
}
