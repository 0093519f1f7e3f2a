// Package progress shows progress: as bars, as lines, or as JSON.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// progress shows what happens while it happens.
type progress interface {
	Event(engine.Event)
	WantsFractions() bool
	End()
}

// New chooses how it is shown: as JSON, as bars on a terminal, or as
// lines.
func New(u *ui.UI, output string, todo plan.Plan) progress {
	if output == "json" {
		return &jsonProgress{out: u.Out}
	}
	l := lines{page: u.Page(u.Out), names: nameWidth(todo), rows: map[model.Owner]*row{}}
	l.page.Width = 0
	if f, ok := ui.Terminal(u.Out); ok && u.Getenv("TERM") != "dumb" {
		l.names = min(l.names, max(24, ui.ScreenWidth(f)/3))
		return newBars(u, f, l, todo)
	}
	return &lineProgress{out: u.Out, lines: l}
}

// nameWidth is how much room the names of what is worked on need.
func nameWidth(todo plan.Plan) int {
	width := 0
	for _, o := range todo.Objects {
		if !o.Ready() {
			width = max(width, utf8.RuneCountInString(status.Name(o.Owner.Key)))
		}
	}
	return width
}

// row is what is going on with one object.
type row struct {
	owner    model.Owner
	began    time.Time // of the object
	step     string
	stepped  time.Time // when the step began
	running  int       // steps that are under way
	fraction float64   // of the step; 0: not known
	waits    string
	failed   string // what went wrong the last time
}

// lines turns events into lines of text.
type lines struct {
	page  status.Page
	names int
	rows  map[model.Owner]*row
}

// take records an event and returns its line; empty: none. ended: the object needs no row
// any more.
func (l *lines) take(e engine.Event) (r *row, line string, ended bool) {
	r = l.rows[e.Owner]
	if r == nil {
		if e.Kind == engine.Ready {
			return nil, "", true // it was up to date all the time
		}
		r = &row{owner: e.Owner, began: e.Time}
		l.rows[e.Owner] = r
	}
	switch e.Kind {
	case engine.Started:
		r.step, r.stepped, r.fraction, r.waits = status.Sentence(e.Step), e.Time, 0, ""
		r.running++
		return r, l.line(l.page.Grey("·"), e, r.step, ""), false
	case engine.Progress:
		r.fraction = e.Fraction
	case engine.Done:
		r.running--
		return r, l.line(l.page.Green("✓"), e, done(e), status.Duration(e.Time.Sub(r.stepped))), false
	case engine.Failed:
		text := failed(e, r.failed)
		r.running, r.failed = 0, e.Text
		return r, l.line(l.page.Red("✗"), e, text, ""), false
	case engine.Waiting:
		if r.failed != "" && e.Reason == model.WaitFailed {
			r.waits = "waits to try again" // the failure was reported
			return r, "", false
		}
		if w := waitText(e); w != r.waits {
			r.waits = w
			if e.Reason.Blocks() {
				return r, "", false // the plan has said it, and the last lines do
			}
			return r, l.line("…", e, w, ""), false
		}
	case engine.Ready:
		delete(l.rows, e.Owner)
		text := "ready"
		if e.Text != "" {
			text = e.Text
		}
		return r, l.line(l.page.Green("✓"), e, l.page.Green(text), status.Duration(e.Time.Sub(r.began))), true
	}
	return r, "", false
}

// waitText is "waits: the image isn't ready" or "waits for its guest agent"; "blocked: there is no pool
// web" where waiting doesn't help.
func waitText(e engine.Event) string {
	return status.CLI.Waits(plan.Wait{Reason: e.Reason, Text: e.Text, Diff: e.Diff, Do: e.Hint})
}

func done(e engine.Event) string {
	text := status.Sentence(e.Step)
	if why := status.Text(e.Text, e.Diff); why != "" && !e.Obvious {
		text += ": " + why
	}
	return text
}

// failed says that a step failed, and why and what to do if that wasn't said the last time. Of a failure
// that ends the work on an object the last lines say why, and what to do.
func failed(e engine.Event, before string) string {
	text := status.Sentence(e.Step) + " failed"
	switch {
	case e.Text == before && e.Final:
		return text + " again, and isn't tried any more"
	case e.Text == before:
		return text + " again"
	case e.Final:
		return text
	}
	return status.CLI.Say(fmt.Sprintf("%s failed: %s", e.Step, e.Text), e.Hint)
}

// line is "✓ vm/web-1  memory 2048 → 4096 MiB  2s".
func (l *lines) line(sign string, e engine.Event, text, took string) string {
	line := fmt.Sprintf("%s %s  %s", sign, pad(status.Name(e.Owner.Key), l.names), text)
	if took != "" {
		line += "  " + l.page.Grey(took)
	}
	return line
}

func pad(text string, width int) string { return fmt.Sprintf("%-*s", width, text) }

// lineProgress writes a line for each thing that happens.
type lineProgress struct {
	out io.Writer

	mu sync.Mutex
	lines
}

func (p *lineProgress) Event(e engine.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, line, _ := p.take(e); line != "" {
		fmt.Fprintln(p.out, line)
	}
}

func (p *lineProgress) WantsFractions() bool { return false }
func (p *lineProgress) End()                 {}

// jsonProgress writes a line of JSON for each event.
type jsonProgress struct {
	mu  sync.Mutex
	out io.Writer
}

// eventLine is an event for machines. The names of its fields stay.
type eventLine struct {
	Type     string      `json:"type"`
	Time     time.Time   `json:"time"`
	Object   string      `json:"object"`
	VMID     int         `json:"vmid,omitempty"`
	Node     string      `json:"node,omitempty"`
	Event    engine.Kind `json:"event"`
	Step     string      `json:"step,omitempty"`
	Text     string      `json:"text,omitempty"`
	Hint     string      `json:"hint,omitempty"`
	Task     string      `json:"task,omitempty"`
	Fraction float64     `json:"fraction,omitempty"`
}

func (p *jsonProgress) Event(e engine.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, hint := status.Text(e.Text, e.Diff), status.CLI.Advice(e.Hint)
	if e.Kind == engine.Waiting {
		text, hint = status.CLI.Say(text, e.Hint), ""
	}
	_ = ui.WriteLine(p.out, eventLine{
		Type: "event", Time: e.Time, Object: status.Name(e.Owner.Key), VMID: e.VMID, Node: e.Node, Event: e.Kind,
		Step: status.Sentence(e.Step), Text: text, Hint: hint, Task: e.Task, Fraction: e.Fraction,
	})
}

func (p *jsonProgress) WantsFractions() bool { return true }
func (p *jsonProgress) End()                 {}
