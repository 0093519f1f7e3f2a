package operator

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/model"
)

// board takes events as the API server does, when it is let.
type board struct {
	mu          sync.Mutex
	posted      int
	patched     int
	under, most atomic.Int64
	once        sync.Once
	lost        atomic.Bool   // it has none of those that it took
	open        chan struct{} // closed: it takes them
	busy        chan struct{} // is closed when all heralds wait for it
	enough      int           // then
	full        chan struct{} // is closed
}

func (b *board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := b.under.Add(1)
	if n > b.most.Load() {
		b.most.Store(n)
	}
	if n == heralds && b.busy != nil {
		b.once.Do(func() { close(b.busy) })
	}
	defer b.under.Add(-1)
	<-b.open
	b.mu.Lock()
	defer b.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPatch && b.lost.Load() {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404}`)
		return
	}
	if r.Method == http.MethodPatch {
		b.patched++
	} else if b.posted++; b.posted == b.enough {
		close(b.full)
	}
	fmt.Fprint(w, `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"x","namespace":"lab"}}`)
}

func (b *board) counts() (posted, patched int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.posted, b.patched
}

// telling starts a herald that writes to a board.
func telling(t *testing.T, b *board) (tell *herald, end func()) {
	t.Helper()
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{eventsv1.SchemeGroupVersion})
	mapper.Add(eventsv1.SchemeGroupVersion.WithKind("Event"), meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: server.URL, QPS: -1}, client.Options{Scheme: kube.Scheme(), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	tell = newHerald(c)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- tell.Start(ctx) }()
	return tell, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func aboutMachine(n int, kind, reason, text string, at time.Time) notice {
	name := fmt.Sprintf("web-%d", n)
	return notice{about: model.Key{Kind: "VirtualMachine", Namespace: "lab", Name: name}, uid: types.UID(name), kind: kind, reason: reason, action: "Clone", text: text, at: at}
}

func TestAFloodOfEventsIsWrittenAFewAtATime(t *testing.T) {
	b := &board{open: make(chan struct{}), busy: make(chan struct{}), enough: heralds + heraldFull + 1, full: make(chan struct{})}
	tell, end := telling(t, b)
	now := time.Now()
	const flood = 10 * heraldQueue
	for n := range heralds {
		tell.tell(aboutMachine(flood+n, corev1.EventTypeNormal, EventDone, "clone", now))
	}
	<-b.busy               // from now on nobody takes any from the queue
	for n := range flood { // nobody waits, though nothing is taken
		tell.tell(aboutMachine(n, corev1.EventTypeNormal, EventDone, "clone", now))
	}
	tell.tell(aboutMachine(0, corev1.EventTypeWarning, EventFailed, "clone", now))
	if n := len(tell.queue); n != heraldFull+1 {
		t.Errorf("%d events wait, want %d and the warning", n, heraldFull)
	}
	close(b.open)
	<-b.full
	end()
	posted, _ := b.counts()
	if b.most.Load() > heralds {
		t.Errorf("%d were written at once", b.most.Load())
	}
	if posted != b.enough {
		t.Errorf("%d were written, want %d", posted, b.enough)
	}
}

// Who is slow to take the first one has the same again meanwhile.
func TestWhatHappensAgainBeforeItIsWrittenIsCounted(t *testing.T) {
	b := &board{open: make(chan struct{})}
	tell, end := telling(t, b)
	now := time.Now()
	var all sync.WaitGroup
	for n := range 10 {
		all.Go(func() {
			tell.write(t.Context(), aboutMachine(1, corev1.EventTypeNormal, EventDone, "start", now.Add(time.Duration(n))))
		})
	}
	close(b.open)
	all.Wait()
	if posted, patched := b.counts(); posted != 1 || patched != 0 {
		t.Errorf("ten at once are %d events with %d changes, want 1 with none", posted, patched)
	}
	end()
}

// What couldn't be written isn't taken for known.
func TestWhatCouldntBeWrittenIsToldWhenItHappensAgain(t *testing.T) {
	b := &board{open: make(chan struct{})}
	close(b.open)
	tell, end := telling(t, b)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	e := aboutMachine(1, corev1.EventTypeWarning, EventFailed, "start", time.Now())
	tell.write(over, e)
	tell.write(t.Context(), e)
	if posted, _ := b.counts(); posted != 1 {
		t.Errorf("it is written %d times", posted)
	}
	end()
}

func TestWhatHappensAgainIsCounted(t *testing.T) {
	b := &board{open: make(chan struct{})}
	close(b.open)
	tell, end := telling(t, b)
	now := time.Now()
	// One after the other: each is written, or counted, before the next.
	say := func(after time.Duration, reason, text string) {
		tell.write(t.Context(), aboutMachine(1, corev1.EventTypeNormal, reason, text, now.Add(after)))
	}
	for n := range 100 {
		say(time.Duration(n)*2*time.Second, EventFailed, fmt.Sprintf("failed: %d GiB free", n))
	}
	if posted, patched := b.counts(); posted != 1 || patched != 3 {
		t.Errorf("a hundred failures within three minutes are %d events with %d changes, want 1 with 3", posted, patched)
	}
	say(0, EventDone, "memory 2048 → 4096 MiB")
	say(time.Second, EventDone, "memory 4096 → 8192 MiB")
	if posted, _ := b.counts(); posted != 3 {
		t.Errorf("other steps are %d events, want 2", posted-1)
	}
	say(4*time.Minute, EventFailed, "failed: the login is refused")
	if posted, _ := b.counts(); posted != 4 {
		t.Error("what fails for another reason isn't told")
	}
	say(time.Hour, EventFailed, "failed: 3 GiB free")
	if posted, _ := b.counts(); posted != 5 {
		t.Error("what happens again after an hour isn't told")
	}
	b.lost.Store(true)
	say(time.Hour+2*time.Minute, EventFailed, "failed: 4 GiB free")
	if posted, _ := b.counts(); posted != 6 {
		t.Error("what somebody has deleted isn't told when it happens again")
	}
	end()
}
