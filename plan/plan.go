// Package plan decides what is to be done: from what is wanted and what is
// there it makes a plan of steps, each with what, why and effect.
//
// [For] is a pure function. It reads no clock, no socket and no dice, so
// equal input gives the equal plan; it never fails, since what can't be done
// yet is a wait with a reason. Nothing is remembered between plans: whoever
// acts does the first steps, looks again and asks for the next plan.
package plan

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Effect is what a step means for a guest and its data.
type Effect = model.Effect

// The effects, by short names.
const (
	New       = model.EffectNew
	Live      = model.EffectLive
	Moves     = model.EffectMoves
	Later     = model.EffectLater
	Partly    = model.EffectPartly
	PowerOff  = model.EffectPowerOff
	Restart   = model.EffectRestart
	Replace   = model.EffectReplace
	LosesData = model.EffectLosesData
)

// Step is one action, with what a person needs to judge it.
type Step struct {
	N      int // number within the object's plan, from 1
	Action model.Action
	What   string // "grow scsi0"
	Why    string // "its guest is to run"; empty: its differences say it
	// Diff is what the step changes about something that is there. Of a restart it is what
	// that applies, of a replacement what needs it.
	Diff   []model.Difference
	Effect Effect
	After  []int // steps that must be done first
	// Obvious says that the reason goes without saying: what is made isn't there, or what
	// goes is to go.
	Obvious bool
}

// Outcomes have these parts of a plan, too.
type (
	// Wait is what an object waits for.
	Wait = model.Wait
	// Refusal is what isn't done without being allowed.
	Refusal = model.Refusal
	// Pending is what applies at the next start.
	Pending = model.Pending
	// Note is what people should know.
	Note = model.Note
)

// Object is the plan for one wanted object.
type Object struct {
	Owner  model.Owner
	VMID   int
	Node   string
	Placed string           // why it goes to that node
	Memory int64            // that it will take there, if it is to be made
	Space  map[string]int64 // the same of its disks, by storage
	// Addresses are those that it will get from pools, if it is to be made, or keeps, if it is to be
	// made anew.
	Addresses []netip.Addr
	Devices   map[string]string // the options by which it will get PCI devices there
	Steps     []Step
	Wait      *Wait
	Refused   []Refusal
	// Notes are what people should know, though nothing is to be done about it: a
	// change of the manifest that doesn't apply to a guest that is there.
	Notes []Note
	Look  Look
	Gone  bool // it was to go, and nothing of it is left
	// Foreseen says that the steps are those that will be planned when the wait is
	// over: none of them can be done now. Without steps, the wait has what comes
	// after it: something that people have to do.
	Foreseen bool
	// LeftOver is the guest whose snapshots go because no manifest names them any
	// more.
	LeftOver model.Key
	// LeftImage is an image that no manifest names any more, and that goes.
	LeftImage *model.Image
	// Awaits is the template of its image that has to be made before the guest is.
	Awaits model.Key
	// On is the node of a template that is one of several of an image.
	On string
	// Resolved is what the name of an image stands for.
	Resolved string
	// Templates are the guests that an image stands for.
	Templates []model.Template
	// Earlier are templates that it doesn't stand for any more, and that stay.
	Earlier []Earlier
	// Unread says that the guest's config wasn't read: by the lists alone it is up to date.
	Unread bool
	// Unasked says that the guest's agent wasn't asked for the address that is waited for; all else is up to
	// date.
	Unasked bool
}

// Placement is where a guest is made, and what it takes there.
func (o Object) Placement() model.Placement {
	return model.Placement{Owner: o.Owner, Node: o.Node, Memory: o.Memory, Space: o.Space, Addresses: o.Addresses, Devices: o.Devices}
}

// Ready reports whether the object is up to date.
func (o Object) Ready() bool {
	return len(o.Steps) == 0 && o.Wait == nil && len(o.Refused) == 0 && o.Look.Empty()
}

// Verified reports whether the object is up to date by everything that was read. Of one that is only ready,
// something may not have been read.
func (o Object) Verified() bool { return o.Ready() && !o.Unread && !o.Unasked }

// Unchanged reports whether nothing is to be done for the object: it is up to date, or
// only its guest agent hasn't been asked or hasn't reported an address.
func (o Object) Unchanged() bool {
	o.Look.Agents = nil
	if o.Wait != nil && o.Wait.Reason == model.WaitAgent {
		o.Wait = nil
	}
	return o.Ready()
}

// Next are the steps that can be done right away.
func (o Object) Next() []Step {
	var next []Step
	if o.Foreseen {
		return nil
	}
	for _, s := range o.Steps {
		if len(s.After) == 0 {
			next = append(next, s)
		}
	}
	return next
}

// step adds a step that comes after those named; it returns its number.
func (o *Object) step(s Step, after ...int) int {
	s.N = len(o.Steps) + 1
	s.Obvious = s.Why == absent(o.Owner) || s.Why == ending(o.Owner)
	for _, n := range after {
		if n != 0 && !slices.Contains(s.After, n) {
			s.After = append(s.After, n)
		}
	}
	slices.Sort(s.After)
	o.Steps = append(o.Steps, s)
	return s.N
}

// absent is why something is made.
func absent(o model.Owner) string { return fmt.Sprintf("%s isn't there", o.Key) }

// ending is why something goes.
func ending(o model.Owner) string { return fmt.Sprintf("%s is to go", o.Key) }

func (o *Object) wait(reason model.Reason, text string) {
	if o.Wait == nil {
		o.Wait = &Wait{Reason: reason, Text: text}
	}
}

// advise waits as [Object.wait] does, and says what a person can do about it.
func (o *Object) advise(reason model.Reason, text string, do model.Advice) {
	if o.Wait == nil {
		o.Wait = &Wait{Reason: reason, Text: text, Do: do}
	}
}

func (o *Object) note(format string, args ...any) {
	o.Notes = append(o.Notes, Note{Text: fmt.Sprintf(format, args...)})
}

// Plan is what is to be done for all that is wanted.
type Plan struct {
	Objects []Object
	Notes   []Note // of no object in particular
}

// Ready reports whether everything is up to date.
func (p Plan) Ready() bool {
	return !slices.ContainsFunc(p.Objects, func(o Object) bool { return !o.Ready() })
}

// Unchanged reports whether nothing is to be done, see [Object.Unchanged].
func (p Plan) Unchanged() bool {
	return !slices.ContainsFunc(p.Objects, func(o Object) bool { return !o.Unchanged() })
}

// Look is all that must be read before the plan can be completed.
func (p Plan) Look() Look {
	var l Look
	for _, o := range p.Objects {
		l.Add(o.Look)
	}
	slices.Sort(l.Configs)
	l.Configs = slices.Compact(l.Configs)
	slices.Sort(l.Snapshots)
	l.Snapshots = slices.Compact(l.Snapshots)
	slices.Sort(l.Firewalls)
	l.Firewalls = slices.Compact(l.Firewalls)
	slices.Sort(l.Agents)
	l.Agents = slices.Compact(l.Agents)
	slices.Sort(l.Status)
	l.Status = slices.Compact(l.Status)
	slices.Sort(l.Ready)
	l.Ready = slices.Compact(l.Ready)
	for _, names := range []*[]string{&l.Bridges, &l.Storages, &l.Mappings, &l.Rights} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	slices.Sort(l.IDs)
	l.IDs = slices.Compact(l.IDs)
	return l
}

// Steps counts the steps of the whole plan.
func (p Plan) Steps() int {
	n := 0
	for _, o := range p.Objects {
		n += len(o.Steps)
	}
	return n
}
