package progress

import (
	"bytes"
	"testing"
	"time"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// happenings are events of two machines and an image that is up to date.
func happenings() (plan.Plan, []engine.Event) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	owner := func(kind, name string) model.Owner { return model.Owner{Key: model.Key{Kind: kind, Name: name}} }
	image, web, db := owner("VMImage", "ubuntu"), owner("VirtualMachine", "web-1"), owner("VirtualMachine", "db")
	step := []plan.Step{{What: "x"}}
	todo := plan.Plan{Objects: []plan.Object{{Owner: image}, {Owner: web, Steps: step}, {Owner: db, Steps: step}}}
	var events []engine.Event
	add := func(after time.Duration, o model.Owner, kind engine.Kind, step, text string) {
		at = at.Add(after)
		events = append(events, engine.Event{Time: at, Owner: o, Kind: kind, Step: step, Text: text, VMID: 101, Node: "pve1"})
	}
	add(0, image, engine.Ready, "", "")
	add(0, web, engine.Planned, "", "2 steps")
	add(0, web, engine.Started, "clone ubuntu (9000) to VM 101 on pve1", "virtualmachine/web-1 isn't there")
	for range 2 {
		add(0, db, engine.Waiting, "", "vmimage/data isn't ready yet")
		events[len(events)-1].Reason = model.WaitSource
	}
	add(2*time.Second, web, engine.Progress, "clone ubuntu (9000) to VM 101 on pve1", "")
	events[len(events)-1].Fraction = 0.5
	add(2*time.Second, web, engine.Done, "clone ubuntu (9000) to VM 101 on pve1", "virtualmachine/web-1 isn't there")
	events[len(events)-1].Obvious = true
	memory := []model.Difference{{Verb: model.VerbSet, Field: "memory", From: "2048", To: "4096", Effect: plan.Live}}
	add(0, web, engine.Started, "configure VM 101", "")
	events[len(events)-1].Diff = memory
	add(time.Second, web, engine.Done, "configure VM 101", "")
	events[len(events)-1].Diff = memory
	add(0, db, engine.Started, "start VM 102", "powerState is On")
	add(time.Second, db, engine.Failed, "start VM 102", "no space left")
	events[len(events)-1].Hint = model.Advice{Text: "free space on the storage, or name another one"}
	add(0, db, engine.Waiting, "", "start VM 102 failed: no space left; free space on the storage, or name another one")
	events[len(events)-1].Reason = model.WaitFailed
	add(0, web, engine.Waiting, "", "for its guest agent to report an address")
	events[len(events)-1].Reason = model.WaitAgent
	add(3*time.Second, web, engine.Ready, "", "")
	add(time.Second, db, engine.Ready, "", "gone")
	return todo, events
}

func TestProgressWithoutATerminalIsLines(t *testing.T) {
	var out bytes.Buffer
	u := ui.New(nil, &out, &out)
	todo, events := happenings()
	p := New(u, "", todo)
	for _, e := range events {
		p.Event(e)
	}
	p.End()
	golden.Compare(t, "progress.txt", out.String())
}

func TestProgressForMachinesIsJSON(t *testing.T) {
	var out bytes.Buffer
	u := ui.New(nil, &out, &out)
	todo, events := happenings()
	p := New(u, "json", todo)
	for _, e := range events {
		p.Event(e)
	}
	p.End()
	golden.Compare(t, "progress.jsonl", out.String())
}

func TestBarsAndTextsFit(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{bar(0.5), "[==========          ]  50%"},
		{bar(1.2), "[====================] 100%"},
		{bar(-1), "[                    ]   0%"},
		{fitted("short", 8), "short   "},
		{fitted("größer", 4), "grö…"},
		{fitted("x", 0), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
