package robustness

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// wire carries the requests of one process to the simulator, and can break: it
// is where a process crashes, where connections are refused, and where all that
// is asked is written down.
//
// A request needs a moment to get there and back, and no two need the same: so
// no two of them come at the same instant, and which comes first is decided by
// the seed alone.
type wire struct {
	run  *run
	who  string // whose requests these are
	ours bool
	next http.RoundTripper // nil: the simulator's handler itself

	mu      sync.Mutex
	seen    map[uint64]asked
	dead    bool
	crashIn int // requests until the process crashes; 0: never
	crashAt moment
	crash   func()
	recent  []time.Time // requests of the last minute
	stormed atomic.Bool // there were too many within a minute
}

// asked is how often the same was asked, and when it was last.
type asked struct {
	n  uint64
	at time.Time
}

// storm is how many requests of one process in a minute are too many, whatever goes on.
// Each time that something else is wanted, all that has failed is tried again at once:
// that may take a few requests for each machine.
const (
	storm      = 900
	stormAgain = 3
	// stormLasts is how long the requests of one try go on: the machines are cloned one after
	// the other, and the tasks are followed. What was asked for so long before a minute makes
	// requests within it.
	stormLasts = 30 * time.Second
)

// stormy is how many requests in the last minute are too many.
func (w *wire) stormy(now time.Time) int {
	again := 0
	for _, s := range w.run.sets {
		again += s.triedAgain(now.Add(-time.Minute - stormLasts))
	}
	return storm + stormAgain*again
}

// hurry notes a request, and that there were too many within a minute.
func (w *wire) hurry() {
	w.mu.Lock()
	now := time.Now()
	w.recent = append(w.recent, now)
	for now.Sub(w.recent[0]) > time.Minute {
		w.recent = w.recent[1:]
	}
	n := len(w.recent)
	w.mu.Unlock()
	w.run.most(n)
	if n >= storm && n >= w.stormy(now) && !w.stormed.Swap(true) {
		w.run.fail("%d requests of one process within a minute", n)
	}
}

// met notes what a request met with.
func (w *wire) met(e *entry, res *http.Response) {
	if !w.ours || res == nil {
		return
	}
	switch {
	case e.status == http.StatusUnauthorized:
		w.run.hit("401")
	case e.status == 595:
		w.run.hit("595")
	case e.path == "/cluster/resources":
		w.run.hit("list")
	case noRoom(e.answer):
		w.run.hit("full")
	}
	if w.next != nil && res.Close && e.status == http.StatusOK {
		w.run.census.count(faultRecycled, 1, 1)
	}
}

// moment is when within a request something happens.
type moment int

const (
	beforeSending moment = iota // Proxmox never gets it
	whileSending                // Proxmox does it, nobody waits for the answer
	afterAnswer                 // the answer came, and was never looked at
)

var (
	errCrashed = errors.New("the process has crashed")
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
)

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	there, back := w.latency(req, body)
	if err := pause(req.Context(), there); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	die, err := w.depart()
	if err != nil {
		return nil, err
	}
	if die != nil && w.crashAt == beforeSending {
		die()
		return nil, errCrashed
	}
	for {
		e, res, err := w.send(req, body, die, back)
		if e == nil || !w.run.h.weak.again(e) || !w.ours {
			return res, err
		}
		die = nil
	}
}

// send sends a request once.
func (w *wire) send(req *http.Request, body []byte, die func(), back time.Duration) (*entry, *http.Response, error) {
	entry := w.run.trace.begin(w, req, body)
	w.run.bounded()
	if w.ours {
		w.hurry()
		w.run.again(entry)
	}
	answered := make(chan exchanged, 1)
	w.run.fly(func() {
		if w.ours {
			w.run.others.beforeUs(entry)
			w.run.watch.before(entry)
		}
		res, err := w.exchange(req, body)
		w.run.trace.end(entry, res, err)
		w.met(entry, res)
		if w.ours {
			w.run.h.weak.receives(w.run, entry, res)
		}
		w.run.watch.after(w, entry)
		answered <- exchanged{res, err}
	})
	if die != nil && w.crashAt == whileSending {
		die()
		return nil, nil, errCrashed
	}
	select {
	case a := <-answered:
		if die != nil {
			die()
			return nil, nil, errCrashed
		}
		if err := pause(req.Context(), back); err != nil {
			return nil, nil, err
		}
		return entry, a.res, a.err
	case <-req.Context().Done():
		w.run.trace.leave(entry)
		return nil, nil, context.Cause(req.Context())
	}
}

// fly works on a request beside everything else, in a goroutine that has done so before if one is free: its
// stack has grown already.
func (r *run) fly(work func()) {
	r.flights.Add(1)
	select {
	case r.idle <- work:
		return
	default:
	}
	go func() {
		for {
			work()
			r.flights.Done()
			select {
			case work = <-r.idle:
			case <-r.done:
				return
			}
		}
	}()
}

type exchanged struct {
	res *http.Response
	err error
}

// depart decides what becomes of a request that is about to be sent. A request
// of a process that is gone isn't sent.
func (w *wire) depart() (die func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.dead:
		return nil, errCrashed
	case w.ours && w.run.isDeaf():
		w.run.hit("refused")
		return nil, errRefused
	case w.crashIn > 0:
		if w.crashIn--; w.crashIn == 0 {
			w.run.tells(w.crashAt.kind())
			return w.crash, nil
		}
	}
	return nil, nil
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
}

// exchange lets the simulator answer.
func (w *wire) exchange(req *http.Request, body []byte) (*http.Response, error) {
	out := req.Clone(context.WithoutCancel(req.Context()))
	out.Body = http.NoBody
	if w.ours {
		body = w.run.h.weak.sends(out, body)
	}
	if len(body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(body))
	}
	out.RequestURI = ""
	if w.next != nil {
		return buffered(w.next.RoundTrip(out))
	}
	return w.call(out)
}

// call is an exchange without a connection.
func (w *wire) call(req *http.Request) (res *http.Response, err error) {
	rec := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler {
				panic(p)
			}
			res, err = nil, io.ErrUnexpectedEOF
		}
	}()
	w.run.handler.ServeHTTP(rec, req)
	return rec.Result(), nil
}

// buffered reads the whole answer, so that it can be looked at.
func buffered(res *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

func bodyOf(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	return body, nil
}

// latency is how long a request and its answer travel: it depends on what is
// asked and how often that was asked before, not on what else goes on.
func (w *wire) latency(req *http.Request, body []byte) (there, back time.Duration) {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %s %s ", w.run.h.seed, w.who, req.Method, req.URL.RequestURI())
	if !strings.HasPrefix(req.Header.Get("Content-Type"), "multipart/") { // its boundary is random
		h.Write(body)
	}
	key := h.Sum64()
	w.mu.Lock()
	// Of two who ask for the same in one instant nobody is first: else chance decided who goes on first.
	if was := w.seen[key]; req.Method != http.MethodGet || was.n == 0 || !was.at.Equal(time.Now()) {
		w.seen[key] = asked{n: was.n + 1, at: time.Now()}
	}
	n := w.seen[key].n
	w.mu.Unlock()
	var count [8]byte
	binary.LittleEndian.PutUint64(count[:], n)
	h.Write(count[:])
	sum := h.Sum64()
	const most = uint64(2 * time.Millisecond)
	return time.Millisecond + time.Duration(sum%most), time.Millisecond + time.Duration(sum>>32%most)
}

// pause lets time pass, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
