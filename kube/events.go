package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/reference"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Events writes the events of a door. A few are written at a time, so that the requests that machines need don't wait behind them, and
// when too many are queued, new ones are dropped. The recorder of client-go sends all at once, and keeps each for minutes.
//
// Repeated events are counted in one event, see [Event].
type Events struct {
	client   client.Client
	from     string // reportingController
	instance string // reportingInstance
	queue    chan Event
	counts   counts
}

var _ events.EventRecorder = (*Events)(nil)

// Event is an event about an object. It is counted with earlier events of the same object, type, reason, action and note; figures in
// notes don't matter, since those of failures and waits change all the time.
type Event struct {
	About   corev1.ObjectReference
	Related *corev1.ObjectReference // may be nil
	Type    string                  // corev1.EventTypeNormal or corev1.EventTypeWarning
	Reason  string
	Action  string
	Note    string // is shortened to what Kubernetes takes
	// Step says that the event is about something that was done: figures in its note matter.
	Step bool
	Time time.Time
}

const (
	eventWriters = 4    // that write at once
	eventQueue   = 2000 // events that may wait
	// When so many wait, only warnings are added.
	eventsFull = eventQueue * 3 / 4

	eventRetries = 5
	eventPause   = 2 * time.Second
)

// NewEvents returns a writer of events and adds it to a manager. From is the name of the door's controller.
func NewEvents(mgr manager.Manager, from string) (*Events, error) {
	e := newEvents(mgr.GetClient(), from)
	return e, mgr.Add(e)
}

func newEvents(c client.Client, from string) *Events {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Events{client: c, from: from, instance: from + "-" + host, queue: make(chan Event, eventQueue), counts: counts{known: map[sameEvent]*series{}}}
}

// Eventf queues an event about an object. It never blocks.
func (e *Events) Eventf(about, related runtime.Object, kind, reason, action, note string, args ...any) {
	scheme := e.client.Scheme()
	ref, err := reference.GetReference(scheme, about)
	if err != nil {
		return // of a kind that this program doesn't know
	}
	event := Event{About: *ref, Type: kind, Reason: reason, Action: action, Note: fmt.Sprintf(note, args...), Time: time.Now()}
	if related != nil {
		if event.Related, err = reference.GetReference(scheme, related); err != nil {
			event.Related = nil
		}
	}
	e.Emit(event)
}

// Emit queues an event. It never blocks.
func (e *Events) Emit(event Event) {
	event.Note = Note(event.Note)
	if event.Type != corev1.EventTypeWarning && len(e.queue) >= eventsFull {
		return
	}
	select {
	case e.queue <- event:
	default:
	}
}

// Start writes events until ctx ends, and then the queued ones, if that takes less than a second.
func (e *Events) Start(ctx context.Context) error {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, cancel) })
	var all sync.WaitGroup
	for range eventWriters {
		all.Go(func() { e.work(ctx, last) })
	}
	all.Wait()
	return nil
}

// NeedLeaderElection implements the manager's interface.
func (*Events) NeedLeaderElection() bool { return false }

func (e *Events) work(ctx, last context.Context) {
	for {
		select {
		case event := <-e.queue:
			e.write(last, event)
			continue
		default:
		}
		select {
		case event := <-e.queue:
			e.write(last, event)
		case <-ctx.Done():
			return
		}
	}
}

// write writes or counts an event. It retries while the API server is away; an event that the API server refuses is dropped.
func (e *Events) write(ctx context.Context, event Event) {
	for range eventRetries {
		var refused apierrors.APIStatus
		if err := e.put(ctx, event); err == nil || errors.As(err, &refused) {
			return
		}
		select {
		case <-time.After(eventPause):
		case <-ctx.Done():
			return
		}
	}
}

func (e *Events) put(ctx context.Context, event Event) error {
	same, object := event.same(), e.object(event)
	first := &series{namespace: object.Namespace, name: object.Name, count: 1, last: event.Time, written: event.Time}
	if s, due := e.counts.add(same, first); s != nil {
		if !due {
			return nil
		}
		if err := e.patch(ctx, *s); !apierrors.IsNotFound(err) {
			return err
		}
		e.counts.restart(same, first) // somebody has deleted the event
	}
	err := e.client.Create(ctx, object)
	if err != nil {
		e.counts.forget(same, first)
	}
	return err
}

// patch writes the count of an event.
func (e *Events) patch(ctx context.Context, s series) error {
	body, err := json.Marshal(map[string]any{"series": eventsv1.EventSeries{Count: s.count, LastObservedTime: metav1.NewMicroTime(s.last)}})
	if err != nil {
		return err
	}
	event := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name}}
	return e.client.Patch(ctx, event, client.RawPatch(types.MergePatchType, body))
}

// object is an event as an object of Kubernetes.
func (e *Events) object(event Event) *eventsv1.Event {
	const longest = 200 // of names, so that there is room for the time
	name := event.About.Name[:min(len(event.About.Name), longest)]
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cmp.Or(event.About.Namespace, metav1.NamespaceDefault),
			Name:      fmt.Sprintf("%s.%x", name, event.Time.UnixNano()),
		},
		EventTime:           metav1.NewMicroTime(event.Time),
		ReportingController: e.from,
		ReportingInstance:   e.instance,
		Type:                event.Type,
		Reason:              event.Reason,
		Action:              event.Action,
		Note:                event.Note,
		Regarding:           event.About,
		Related:             event.Related,
	}
}
