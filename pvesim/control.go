package pvesim

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// serveControl answers below /sim/: what no Proxmox has. It asks for no
// credentials: whoever reaches a simulator may change it.
func (s *Sim) serveControl(w http.ResponseWriter, r *http.Request) {
	data, err := s.control(r)
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(err.status)
		data = map[string]any{"error": err.Error()}
	}
	json.NewEncoder(w).Encode(data)
}

func (s *Sim) control(r *http.Request) (any, *apiError) {
	what, arg, _ := strings.Cut(strings.Trim(strings.TrimPrefix(r.URL.Path, "/sim"), "/"), "/")
	switch what + " " + r.Method {
	case " GET":
		return map[string]any{"release": s.Release(), "paths": []string{"/sim/clock", "/sim/faults", "/sim/requests", "/sim/state"}}, nil
	case "faults GET":
		return s.Faults(), nil
	case "faults POST":
		return s.postFault(r)
	case "faults DELETE":
		id, err := strconv.Atoi(arg)
		if err != nil && arg != "" {
			return nil, coded(http.StatusBadRequest, "%q is no fault's id", arg)
		}
		s.RemoveFault(id)
		return s.Faults(), nil
	case "requests GET":
		return s.getRequests(r)
	case "clock GET":
		return map[string]any{"now": s.clock.Now()}, nil
	case "clock POST":
		return s.postClock(r)
	case "state GET":
		return s.stateCopy()
	}
	return nil, coded(http.StatusNotFound, "no %s %s here; GET /sim lists what there is", r.Method, r.URL.Path)
}

// getRequests gives the request log, at once or when there are as many as asked
// for.
func (s *Sim) getRequests(r *http.Request) (any, *apiError) {
	query := r.URL.Query()
	number := func(name string) (int, *apiError) {
		n, err := strconv.Atoi(cmp.Or(query.Get(name), "0"))
		if err != nil {
			return 0, coded(http.StatusBadRequest, "%s: %q isn't a number", name, query.Get(name))
		}
		return n, nil
	}
	after, err := number("after")
	if err != nil {
		return nil, err
	}
	until, err := number("until")
	if err != nil {
		return nil, err
	}
	count := s.AwaitRequests(r.Context(), until)
	return map[string]any{"count": count, "requests": s.Requests(after)}, nil
}

func (s *Sim) postFault(r *http.Request) (any, *apiError) {
	var f Fault
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, coded(http.StatusBadRequest, "fault: %v", err)
	}
	id, err := s.AddFault(f)
	if err != nil {
		return nil, coded(http.StatusBadRequest, "%v", err)
	}
	return map[string]any{"id": id}, nil
}

// postClock puts the clock forward.
func (s *Sim) postClock(r *http.Request) (any, *apiError) {
	var in struct {
		Advance Duration `json:"advance"`
	}
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil || in.Advance.D() < 0 {
		return nil, coded(http.StatusBadRequest, `clock: want {"advance": "10s"}`)
	}
	return map[string]any{"now": s.Advance(in.Advance.D())}, nil
}

// Advance puts the simulator's clock forward; what was due meanwhile happens
// at once.
func (s *Sim) Advance(d time.Duration) time.Time {
	now := s.clock.advance(d)
	if round := s.world.Load.StatusRound.D(); round > 0 && d >= round {
		// The daemon's own timer may not be set yet.
		s.mu.Lock()
		defer s.mu.Unlock()
		s.takeRound()
	}
	return now
}

// Now returns the simulator's time.
func (s *Sim) Now() time.Time { return s.clock.Now() }

func (s *Sim) stateCopy() (any, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := json.Marshal(s.state)
	if err != nil {
		return nil, coded(http.StatusInternalServerError, "encode state: %v", err)
	}
	return json.RawMessage(b), nil
}
