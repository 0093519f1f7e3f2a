// Package plan decides what to do: it compares the wanted with the observed state and makes
// a plan of steps, each with an action, a reason and an effect.
//
// [For] is a pure function. It reads no clock, no socket and no random numbers, so equal
// input gives an equal plan. It never fails: a step that can't be done yet is a wait with a
// reason. There is no state between plans: the engine does the first steps, observes again
// and makes the next plan.
package plan

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Effect is the effect of a step on a guest and its data.
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

// Step is one action, with its reason and effect for people.
type Step struct {
	N      int // number within the object's plan, from 1
	Action model.Action
	What   string // "grow scsi0"
	Why    string // "its guest is to run"; empty: the differences are the reason
	// Diff are the changes of the step to an existing object. For a restart they are the
	// changes that it applies, for a replacement those that need it.
	Diff   []model.Difference
	Effect Effect
	After  []int // numbers of steps that must be done first
	// Obvious says that the reason is trivial: the new object doesn't exist yet, or the
	// removed one isn't wanted.
	Obvious bool
}

// Parts of a plan that outcomes have, too.
type (
	// Wait is what an object waits for.
	Wait = model.Wait
	// Refusal is a step that isn't done without being allowed.
	Refusal = model.Refusal
	// Pending are changes that apply at the next start.
	Pending = model.Pending
	// Note is information for people.
	Note = model.Note
)

// Object is the plan for one wanted object.
type Object struct {
	Owner  model.Owner
	VMID   int
	Node   string
	Placed string           // why this node was chosen
	Memory int64            // memory that it will use there, if it is to be created
	Space  map[string]int64 // size of its disks, by storage, if it is to be created
	// Addresses are its addresses from pools, if it is to be created or recreated.
	Addresses []netip.Addr
	Devices   map[string]string // the options with its PCI devices there
	Steps     []Step
	Wait      *Wait
	Refused   []Refusal
	// Notes are information that needs no step: a change of the manifest that doesn't apply to
	// an existing guest.
	Notes []Note
	Look  Look
	Gone  bool // it was to be removed, and nothing of it is left
	// Foreseen says that the steps are those that will follow the wait: none of them can be
	// done now. Without steps, a person has to act after the wait.
	Foreseen bool
	// LeftOver is the guest whose snapshots are removed because no manifest names them any
	// more.
	LeftOver model.Key
	// LeftImage is an image that is removed because no manifest names it any more.
	LeftImage *model.Image
	// Awaits is the template of its image that has to be made before the guest is.
	Awaits model.Key
	// On is the node of one of an image's templates.
	On string
	// Resolved is the template that the name of an image stands for.
	Resolved string
	// Templates are the guests that an image stands for.
	Templates []model.Template
	// Earlier are templates of earlier versions that are kept.
	Earlier []Earlier
	// Unread says that the guest's config wasn't read: it is up to date by the lists alone.
	Unread bool
	// Unasked says that the guest's agent wasn't asked for an address; everything else is up to date.
	Unasked bool
}

// Placement returns the node of a new guest, and the resources that it uses there.
func (o Object) Placement() model.Placement {
	return model.Placement{Owner: o.Owner, Node: o.Node, Memory: o.Memory, Space: o.Space, Addresses: o.Addresses, Devices: o.Devices}
}

// Ready reports whether the object is up to date.
func (o Object) Ready() bool {
	return len(o.Steps) == 0 && o.Wait == nil && len(o.Refused) == 0 && o.Look.Empty()
}

// Verified reports whether the object is up to date and everything that matters was read. For an object
// that is only ready, something may not have been read.
func (o Object) Verified() bool { return o.Ready() && !o.Unread && !o.Unasked }

// Unchanged reports whether there is nothing to do for the object: it is up to date, or
// only its guest agent hasn't been asked or hasn't reported an address.
func (o Object) Unchanged() bool {
	o.Look.Agents = nil
	if o.Wait != nil && o.Wait.Reason == model.WaitAgent {
		o.Wait = nil
	}
	return o.Ready()
}

// Next returns the steps that can be done right away.
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

// absent is the reason of steps that make something.
func absent(o model.Owner) string { return fmt.Sprintf("%s isn't there", o.Key) }

// ending is the reason of steps that remove something.
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

// Plan has the plans of all wanted objects.
type Plan struct {
	Objects []Object
	Notes   []Note // of no object in particular
}

// Ready reports whether everything is up to date.
func (p Plan) Ready() bool {
	return !slices.ContainsFunc(p.Objects, func(o Object) bool { return !o.Ready() })
}

// Unchanged reports whether there is nothing to do, see [Object.Unchanged].
func (p Plan) Unchanged() bool {
	return !slices.ContainsFunc(p.Objects, func(o Object) bool { return !o.Unchanged() })
}

// Look returns everything that must be read before the plan can be completed.
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
	for _, names := range []*[]string{&l.Bridges, &l.Storages, &l.Mappings, &l.Rights, &l.Disks} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	if l.Volumes {
		l.Disks = nil // they are among those
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
