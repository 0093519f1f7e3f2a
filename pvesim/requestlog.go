package pvesim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"
)

// Request is one line of the request log: what was asked and answered. The
// URL is as it came, since Proxmox logs whole request lines too; secrets in
// bodies aren't kept.
type Request struct {
	N        int               `json:"n"`
	Time     time.Time         `json:"time"`
	Method   string            `json:"method"`
	URL      string            `json:"url"`
	User     string            `json:"user,omitempty"`
	Params   map[string]string `json:"params,omitempty"` // of the body
	Status   int               `json:"status"`           // 0: no answer was given
	Reason   string            `json:"reason,omitempty"`
	Duration Duration          `json:"duration"`
}

// keepRequests is how many requests are remembered.
const keepRequests = 10000

// requestLog keeps what was asked and answered.
type requestLog struct {
	total  int
	recent []Request // a ring once it is full
	out    io.Writer
	more   chan struct{} // closed by the next request; nil: nobody waits for it
}

// WithLog writes a line of JSON for each request.
func WithLog(w io.Writer) Option { return func(o *simSettings) { o.log = w } }

// entry is a request that is being handled.
type logEntry struct {
	Request
	start time.Time
}

func (l *requestLog) begin(s *Sim, req *request) *logEntry {
	now := s.now()
	return &logEntry{start: now, Request: Request{Time: now, Method: req.method, URL: req.http.URL.RequestURI()}}
}

func (e *logEntry) end(s *Sim, req *request, ans *answer) {
	e.Duration = Duration(s.now().Sub(e.start))
	if !ans.dropped {
		e.Status, e.Reason = ans.status, ans.reason
	}
	e.User, e.Params = req.user, bodyParams(req)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.log
	l.total++
	e.N = l.total
	if len(l.recent) < keepRequests {
		l.recent = append(l.recent, e.Request)
	} else {
		l.recent[(l.total-1)%keepRequests] = e.Request
	}
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
	if l.out != nil {
		line, _ := json.Marshal(e.Request)
		_, _ = l.out.Write(append(line, '\n')) // requests don't fail with their log
	}
}

// secretParam are parameters whose values aren't kept.
var secretParam = regexp.MustCompile(`(?i)pass|secret|ticket|token|keys?$|content|input-data|otp|response`)

// longest is how much of a parameter's value is kept.
const longest = 1024

// bodyParams are the parameters of the request's body, with secrets masked.
func bodyParams(req *request) map[string]string {
	if len(req.body) == 0 {
		return nil
	}
	out := map[string]string{}
	for k, v := range req.given {
		text := fmt.Sprint(v)
		switch {
		case secretParam.MatchString(k):
			text = "***"
		case len(text) > longest:
			text = text[:longest] + "…"
		}
		out[k] = text
	}
	return out
}

// Requests returns the requests after the nth, oldest first.
func (s *Sim) Requests(after int) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.log
	list := slices.Clone(l.recent)
	if l.total > keepRequests {
		at := l.total % keepRequests
		list = slices.Concat(list[at:], list[:at])
	}
	first := l.total - len(list)
	if after > first {
		list = list[min(after-first, len(list)):]
	}
	return list
}

// RequestCount returns the number of requests so far.
func (s *Sim) RequestCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.total
}

// AwaitRequests waits until n requests have been answered, or ctx ends, and
// returns how many there have been.
func (s *Sim) AwaitRequests(ctx context.Context, n int) int {
	for {
		s.mu.Lock()
		total := s.log.total
		if total >= n || ctx.Err() != nil {
			s.mu.Unlock()
			return total
		}
		if s.log.more == nil {
			s.log.more = make(chan struct{})
		}
		more := s.log.more
		s.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
		case <-s.closed:
			return total
		}
	}
}
