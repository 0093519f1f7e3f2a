package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
)

// herald writes events. They are for people: so few are written at a time, what machines need doesn't wait behind them, and of a
// flood only what fits is kept. Kubernetes' own recorder sends all at once, and
// keeps each for minutes.
type herald struct {
	client client.Client
	queue  chan notice

	mu    sync.Mutex
	known map[sameEvent]*series
}

// notice is an event to write.
type notice struct {
	about  model.Key
	uid    types.UID
	one    string // of several machines that the object is about
	kind   string // Normal or Warning
	reason string
	action string
	text   string
	at     time.Time
}

// sameEvent is what events have in common that are counted together.
type sameEvent struct {
	uid                             types.UID
	one, kind, reason, action, text string
}

// figures are words that change all the time in the same sentence.
var figures = regexp.MustCompile(`\S*\d\S*`)

// same names what an event is counted with. Steps are the same if their texts are;
// what goes wrong, or is waited for, has figures in its text that change all the time.
func (e notice) same() sameEvent {
	s := sameEvent{uid: e.uid, one: e.one, kind: e.kind, reason: e.reason, action: e.action, text: e.text}
	if e.reason != EventDone {
		s.text = figures.ReplaceAllString(e.text, "N")
	}
	return s
}

// series is an event that was written, or is about to be.
type series struct {
	namespace, name string
	count           int32
	last, written   time.Time
}

const (
	heralds     = 4    // that write at once
	heraldQueue = 2000 // events that may wait
	// Of so many that wait, all but warnings are left out.
	heraldFull = heraldQueue * 3 / 4

	// What happens again within this time is counted, and the count is written now
	// and then.
	seriesLast  = 10 * time.Minute
	seriesPause = time.Minute
	// maxSeries bounds how many are remembered.
	maxSeries = 5000

	heraldRetries = 5
	heraldPause   = 2 * time.Second
)

func newHerald(c client.Client) *herald {
	return &herald{client: c, queue: make(chan notice, heraldQueue), known: map[sameEvent]*series{}}
}

// tell queues an event. It never blocks.
func (h *herald) tell(e notice) {
	if e.kind != corev1.EventTypeWarning && len(h.queue) >= heraldFull {
		return
	}
	select {
	case h.queue <- e:
	default:
	}
}

// Start writes events until ctx ends, and then those that wait, if that is quick.
func (h *herald) Start(ctx context.Context) error {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, cancel) })
	var all sync.WaitGroup
	for range heralds {
		all.Go(func() { h.work(ctx, last) })
	}
	all.Wait()
	return nil
}

// NeedLeaderElection is asked by the manager.
func (*herald) NeedLeaderElection() bool { return false }

func (h *herald) work(ctx, last context.Context) {
	for {
		select {
		case e := <-h.queue:
			h.write(last, e)
			continue
		default:
		}
		select {
		case e := <-h.queue:
			h.write(last, e)
		case <-ctx.Done():
			return
		}
	}
}

// write writes an event, or counts it. Kubernetes may be away for a moment; what it
// refuses is lost.
func (h *herald) write(ctx context.Context, e notice) {
	for range heraldRetries {
		var refused apierrors.APIStatus
		if err := h.put(ctx, e); err == nil || errors.As(err, &refused) {
			return
		}
		select {
		case <-time.After(heraldPause):
		case <-ctx.Done():
			return
		}
	}
}

func (h *herald) put(ctx context.Context, e notice) error {
	same, event := e.same(), eventOf(e)
	first := &series{namespace: event.Namespace, name: event.Name, count: 1, last: e.at, written: e.at}
	if s, due := h.count(same, first); s != nil {
		if !due {
			return nil
		}
		if err := h.patch(ctx, *s); !apierrors.IsNotFound(err) {
			return err
		}
		h.renew(same, first) // somebody has cleaned up
	}
	err := h.client.Create(ctx, event)
	if err != nil {
		h.forget(same, first)
	}
	return err
}

// count counts an event that is known already, and reports whether the count is to be
// written. nil: it wasn't known, and is from now on, since it may come again before it
// is written.
func (h *herald) count(same sameEvent, first *series) (s *series, due bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known, at := h.known[same], first.last
	if known == nil || at.Sub(known.last) > seriesLast {
		h.remember(same, first)
		return nil, false
	}
	known.count, known.last = known.count+1, at
	if due = at.Sub(known.written) >= seriesPause; due {
		known.written = at
	}
	found := *known
	return &found, due
}

// forget has an event be unknown that couldn't be written.
func (h *herald) forget(same sameEvent, s *series) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known[same] == s {
		delete(h.known, same)
	}
}

// renew begins to count anew.
func (h *herald) renew(same sameEvent, first *series) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remember(same, first)
}

func (h *herald) remember(same sameEvent, s *series) {
	if len(h.known) >= maxSeries {
		for key, old := range h.known {
			if s.last.Sub(old.last) > seriesLast/10 {
				delete(h.known, key)
			}
		}
	}
	if len(h.known) >= maxSeries {
		clear(h.known) // repeated events are written again then
	}
	h.known[same] = s
}

// patch writes how often something has happened.
func (h *herald) patch(ctx context.Context, s series) error {
	body, err := json.Marshal(map[string]any{"series": eventsv1.EventSeries{Count: s.count, LastObservedTime: metav1.NewMicroTime(s.last)}})
	if err != nil {
		return err
	}
	event := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name}}
	return h.client.Patch(ctx, event, client.RawPatch(types.MergePatchType, body))
}

// eventOf is an event as Kubernetes wants it.
func eventOf(e notice) *eventsv1.Event {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	namespace := cmp.Or(e.about.Namespace, metav1.NamespaceDefault)
	const longest = 200 // of names, so that there is room for the time
	name := e.about.Name[:min(len(e.about.Name), longest)]
	event := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%x", name, e.at.UnixNano())},
		EventTime:           metav1.NewMicroTime(e.at),
		ReportingController: "proxplane",
		ReportingInstance:   "proxplane-" + host,
		Type:                e.kind,
		Reason:              e.reason,
		Action:              e.action,
		Note:                e.text,
		Regarding:           corev1.ObjectReference{APIVersion: api.APIVersion, Kind: e.about.Kind, Namespace: e.about.Namespace, Name: e.about.Name, UID: e.uid},
	}
	if e.one != "" {
		event.Related = &corev1.ObjectReference{APIVersion: api.APIVersion, Kind: e.about.Kind, Namespace: e.about.Namespace, Name: e.one}
	}
	return event
}
