package progress

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// standing follows the events of a run, to say how far each object has come when the run
// is interrupted.
type standing struct {
	mu      sync.Mutex
	objects map[model.Owner]*stand
	order   []model.Owner
}

// stand is how far an object has come.
type stand struct {
	steps  map[string]string // under way, each with its task
	begun  bool
	ended  string // how it ended; empty: it hasn't
	failed string
	waits  string
}

// NewStanding begins with what a plan has to do.
func NewStanding(todo plan.Plan) *standing {
	s := &standing{objects: map[model.Owner]*stand{}}
	for _, o := range todo.Objects {
		if !o.Ready() {
			s.of(o.Owner)
		}
	}
	return s
}

func (s *standing) of(owner model.Owner) *stand {
	o := s.objects[owner]
	if o == nil {
		o = &stand{steps: map[string]string{}}
		s.objects[owner] = o
		s.order = append(s.order, owner)
	}
	return o
}

// Event notes what happened to an object.
func (s *standing) Event(e engine.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.objects[e.Owner]; !known && e.Kind != engine.Started {
		return // it was up to date all the time
	}
	o := s.of(e.Owner)
	switch e.Kind {
	case engine.Started:
		o.begun, o.failed, o.waits, o.ended = true, "", "", ""
		o.steps[e.Step] = ""
	case engine.Progress:
		if _, running := o.steps[e.Step]; running && e.Task != "" {
			o.steps[e.Step] = e.Task
		}
	case engine.Done:
		delete(o.steps, e.Step)
	case engine.Failed:
		delete(o.steps, e.Step)
		o.failed = fmt.Sprintf("%s failed: %s", status.Sentence(e.Step), e.Text)
	case engine.Waiting:
		e.Hint = model.Advice{} // how far it has come is enough
		o.waits = waitText(e)
	case engine.Ready:
		o.ended = "up to date"
		if e.Text != "" {
			o.ended = e.Text
		}
	}
}

// mostStanding is how many objects get a line of their own.
const mostStanding = 12

// Lines returns the progress of each object. Of many objects, those in progress or failed
// get a line, and the others are counted.
func (s *standing) Lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	few := len(s.order) <= mostStanding
	width := 0
	var named []model.Owner
	ended, begun, idle := 0, 0, 0
	for _, owner := range s.order {
		o := s.objects[owner]
		switch {
		case few, len(o.steps) > 0 || o.failed != "" && o.ended == "":
			named = append(named, owner)
		case o.ended != "":
			ended++
		case o.begun:
			begun++
		default:
			idle++
		}
	}
	more := max(0, len(named)-mostStanding)
	named = named[:len(named)-more]
	for _, owner := range named {
		width = max(width, utf8.RuneCountInString(status.Name(owner.Key)))
	}
	var lines []string
	for _, owner := range named {
		lines = append(lines, pad(status.Name(owner.Key), width)+"  "+s.objects[owner].String())
	}
	var rest []string
	for _, part := range []struct {
		n    int
		text string
	}{{more, "more under way or failed"}, {ended, "done"}, {begun, "begun"}, {idle, "not begun"}} {
		if part.n > 0 {
			rest = append(rest, fmt.Sprintf("%d %s", part.n, part.text))
		}
	}
	if len(rest) > 0 {
		lines = append(lines, "and "+strings.Join(rest, ", "))
	}
	return lines
}

// String returns the progress in a few words.
func (o *stand) String() string {
	switch {
	case len(o.steps) > 0:
		var texts []string
		for _, step := range slices.Sorted(maps.Keys(o.steps)) {
			text := status.Sentence(step) + ": asked for, and may be done"
			if o.steps[step] != "" {
				text = status.Sentence(step) + ": goes on in Proxmox"
			}
			texts = append(texts, text)
		}
		return strings.Join(texts, "; ")
	case o.ended != "":
		return o.ended
	case o.failed != "":
		return o.failed
	case o.waits != "" && o.begun:
		return "begun; " + o.waits
	case o.waits != "":
		return "not begun; " + o.waits
	case o.begun:
		return "begun"
	}
	return "not begun"
}
