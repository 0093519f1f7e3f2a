package kube

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
)

// board takes events as the API server does, once it is open.
type board struct {
	mu          sync.Mutex
	posted      int
	patched     int
	under, most atomic.Int64
	once        sync.Once
	lost        atomic.Bool   // it has none of those that it took
	open        chan struct{} // closed: it takes them
	busy        chan struct{} // is closed when all writers wait for it
	enough      int           // then
	full        chan struct{} // is closed
}

func (b *board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := b.under.Add(1)
	if n > b.most.Load() {
		b.most.Store(n)
	}
	if n == eventWriters && b.busy != nil {
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

// writing starts a writer of events that writes to a board.
func writing(t *testing.T, b *board) (writer *Events, end func()) {
	t.Helper()
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{eventsv1.SchemeGroupVersion})
	mapper.Add(eventsv1.SchemeGroupVersion.WithKind("Event"), meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: server.URL, QPS: -1}, client.Options{Scheme: Scheme(), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	writer = newEvents(c, "proxplane")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- writer.Start(ctx) }()
	return writer, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func aboutMachine(n int, kind, reason, note string, at time.Time) Event {
	name := fmt.Sprintf("web-%d", n)
	return Event{About: corev1.ObjectReference{Kind: "VirtualMachine", Namespace: "lab", Name: name, UID: types.UID(name)}, Type: kind, Reason: reason, Action: "Clone", Note: note, Step: reason == "Done", Time: at}
}

func TestAFloodOfEventsIsWrittenAFewAtATime(t *testing.T) {
	b := &board{open: make(chan struct{}), busy: make(chan struct{}), enough: eventWriters + eventsFull + 1, full: make(chan struct{})}
	writer, end := writing(t, b)
	now := time.Now()
	const flood = 10 * eventQueue
	for n := range eventWriters {
		writer.Emit(aboutMachine(flood+n, corev1.EventTypeNormal, "Done", "clone", now))
	}
	<-b.busy               // from now on nobody takes any from the queue
	for n := range flood { // nobody waits, though nothing is taken
		writer.Emit(aboutMachine(n, corev1.EventTypeNormal, "Done", "clone", now))
	}
	writer.Emit(aboutMachine(0, corev1.EventTypeWarning, "Failed", "clone", now))
	if n := len(writer.queue); n != eventsFull+1 {
		t.Errorf("%d events wait, want %d and the warning", n, eventsFull)
	}
	close(b.open)
	<-b.full
	end()
	posted, _ := b.counts()
	if b.most.Load() > eventWriters {
		t.Errorf("%d were written at once", b.most.Load())
	}
	if posted != b.enough {
		t.Errorf("%d were written, want %d", posted, b.enough)
	}
}

// Who is slow to take the first one has the same again meanwhile.
func TestWhatHappensAgainBeforeItIsWrittenIsCounted(t *testing.T) {
	b := &board{open: make(chan struct{})}
	writer, end := writing(t, b)
	now := time.Now()
	var all sync.WaitGroup
	for n := range 10 {
		all.Go(func() {
			writer.write(t.Context(), aboutMachine(1, corev1.EventTypeNormal, "Done", "start", now.Add(time.Duration(n))))
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
	writer, end := writing(t, b)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	e := aboutMachine(1, corev1.EventTypeWarning, "Failed", "start", time.Now())
	writer.write(over, e)
	writer.write(t.Context(), e)
	if posted, _ := b.counts(); posted != 1 {
		t.Errorf("it is written %d times", posted)
	}
	end()
}

func TestWhatHappensAgainIsCounted(t *testing.T) {
	b := &board{open: make(chan struct{})}
	close(b.open)
	writer, end := writing(t, b)
	now := time.Now()
	// One after the other: each is written, or counted, before the next.
	say := func(after time.Duration, reason, text string) {
		writer.write(t.Context(), aboutMachine(1, corev1.EventTypeNormal, reason, text, now.Add(after)))
	}
	for n := range 100 {
		say(time.Duration(n)*2*time.Second, "Failed", fmt.Sprintf("failed: %d GiB free", n))
	}
	if posted, patched := b.counts(); posted != 1 || patched != 3 {
		t.Errorf("a hundred failures within three minutes are %d events with %d changes, want 1 with 3", posted, patched)
	}
	say(0, "Done", "memory 2048 → 4096 MiB")
	say(time.Second, "Done", "memory 4096 → 8192 MiB")
	if posted, _ := b.counts(); posted != 3 {
		t.Errorf("other steps are %d events, want 2", posted-1)
	}
	say(4*time.Minute, "Failed", "failed: the login is refused")
	if posted, _ := b.counts(); posted != 4 {
		t.Error("what fails for another reason isn't told")
	}
	say(time.Hour, "Failed", "failed: 3 GiB free")
	if posted, _ := b.counts(); posted != 5 {
		t.Error("what happens again after an hour isn't told")
	}
	b.lost.Store(true)
	say(time.Hour+2*time.Minute, "Failed", "failed: 4 GiB free")
	if posted, _ := b.counts(); posted != 6 {
		t.Error("what somebody has deleted isn't told when it happens again")
	}
	end()
}

func TestEventsAreAboutObjectsOfEachKind(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", UID: "n"}}
	vm := &api.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "web-1", UID: "v"}}
	for _, test := range []struct {
		reason         string
		about, related runtime.Object
		note           string
		want           eventsv1.Event
	}{
		{
			"of a namespace, and of what else it is about", vm, node, "ready",
			eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "lab"}, Note: "ready", Regarding: corev1.ObjectReference{Kind: "VirtualMachine", APIVersion: api.APIVersion, Namespace: "lab", Name: "web-1", UID: "v"}, Related: &corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: "worker-1", UID: "n"}},
		},
		{
			"of the cluster", node, nil, "ready",
			eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}, Note: "ready", Regarding: corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: "worker-1", UID: "n"}},
		},
		{
			"with more text than Kubernetes takes", node, nil, strings.Repeat("a", 2000),
			eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}, Note: strings.Repeat("a", maxNote) + "…", Regarding: corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: "worker-1", UID: "n"}},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(Scheme()).Build()
			events := newEvents(c, "proxplane-test")
			ctx, cancel := context.WithCancel(t.Context())
			var started sync.WaitGroup
			started.Go(func() { _ = events.Start(ctx) })
			events.Eventf(test.about, test.related, corev1.EventTypeWarning, "Why", "Do", "%s", test.note)
			synctest.Wait()
			cancel()
			started.Wait()
			var list eventsv1.EventList
			if err := c.List(t.Context(), &list); err != nil || len(list.Items) != 1 {
				t.Fatalf("%s: %v, %v", test.reason, list.Items, err)
			}
			is := list.Items[0]
			test.want.Type, test.want.Reason, test.want.Action, test.want.ReportingController = corev1.EventTypeWarning, "Why", "Do", "proxplane-test"
			is.Name, is.ResourceVersion, is.ReportingInstance, is.EventTime = "", "", "", metav1.MicroTime{}
			if diff := cmp.Diff(test.want, is); diff != "" {
				t.Errorf("%s: (-want +is)\n%s", test.reason, diff)
			}
		})
	}
}
