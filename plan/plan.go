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
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Effect is what a step means for a guest and its data.
type Effect string

// Effects, from harmless to grave.
const (
	New       Effect = "new"  // makes something that wasn't there
	Live      Effect = "live" // the guest runs on
	Later     Effect = "at the next start"
	Partly    Effect = "partly live" // the reason says what of it is for the next start
	Restart   Effect = "restart"     // a running guest stops and starts
	Replace   Effect = "replace"     // the guest is destroyed and made anew
	LosesData Effect = "loses data"  // a disk, a state or the whole guest goes
)

// Step is one action, with what a person needs to judge it.
type Step struct {
	N      int // number within the object's plan, from 1
	Action model.Action
	What   string // "grow scsi0"
	Why    string // "8 GiB → 40 GiB"
	Effect Effect
	After  []int // steps that must be done first
}

// Wait is why nothing more can be done now.
type Wait struct {
	Reason string // a word of a small set, see the constants
	Text   string // one sentence
	Task   string // the task that is waited for, if it is one
}

// Reasons to wait.
const (
	WaitTask       = "TaskRunning"
	WaitLock       = "Locked"
	WaitOwner      = "OwnerUnknown"
	WaitSource     = "SourceNotReady"
	WaitPlace      = "NoPlace"
	WaitVMID       = "NoVMID"
	WaitTurn       = "VMIDWanted"
	WaitForeign    = "TakenByOthers"
	WaitNode       = "NodeOffline"
	WaitAgent      = "AgentSilent"
	WaitRestart    = "RestartNeeded"
	WaitRefused    = "NotAllowed"
	WaitFailed     = "StepFailed"
	WaitDependents = "StillInUse"
	WaitPending    = "BootingUp"
	WaitRoot       = "NeedsRoot"
	WaitHost       = "NotOnNode"
	WaitRelease    = "ReleaseTooOld"
)

// Refusal is a step that would be needed and wasn't agreed to.
type Refusal struct {
	What, Why string
	Effect    Effect
	Allow     string // what agrees to it: a flag, a field; empty: nothing can
	Late      bool   // it wasn't in the plan that was agreed to
}

// Look says what must be read before more can be planned.
type Look struct {
	Configs   []int // of these guests
	Snapshots []int
	Agents    []int // ask these guests for their addresses
	Status    []int // whether these run, right now
	Files     bool  // the files on the storages
	Snippets  bool  // the snippets on the storages
	Dirs      bool  // the directory mappings
	HA        bool
}

// Empty tells whether nothing needs to be read.
func (l Look) Empty() bool {
	return len(l.Configs)+len(l.Snapshots)+len(l.Agents)+len(l.Status) == 0 && !l.Files && !l.Snippets && !l.Dirs && !l.HA
}

func (l *Look) add(o Look) {
	l.Configs = append(l.Configs, o.Configs...)
	l.Snapshots = append(l.Snapshots, o.Snapshots...)
	l.Agents = append(l.Agents, o.Agents...)
	l.Status = append(l.Status, o.Status...)
	l.Files = l.Files || o.Files
	l.Snippets = l.Snippets || o.Snippets
	l.Dirs = l.Dirs || o.Dirs
	l.HA = l.HA || o.HA
}

// Object is the plan for one wanted object.
type Object struct {
	Owner   model.Owner
	VMID    int
	Node    string
	Placed  string // why it goes to that node
	Memory  int64  // that it will take there, if it is to be made
	Steps   []Step
	Wait    *Wait
	Refused []Refusal
	Look    Look
	Gone    bool // it was to go, and nothing of it is left
	// Foreseen says that the steps are those that will be planned when the wait is
	// over: none of them can be done now. Without steps, the wait has what comes
	// after it: something that people have to do.
	Foreseen bool
	// LeftOver is the guest whose snapshots go because no manifest names them any
	// more.
	LeftOver model.Key
}

// Ready tells whether the object is as wanted.
func (o Object) Ready() bool {
	return len(o.Steps) == 0 && o.Wait == nil && len(o.Refused) == 0 && o.Look.Empty()
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
	for _, n := range after {
		if n != 0 && !slices.Contains(s.After, n) {
			s.After = append(s.After, n)
		}
	}
	slices.Sort(s.After)
	o.Steps = append(o.Steps, s)
	return s.N
}

func (o *Object) wait(reason, text string) {
	if o.Wait == nil {
		o.Wait = &Wait{Reason: reason, Text: text}
	}
}

// Plan is what is to be done for all that is wanted.
type Plan struct {
	Objects []Object
}

// Ready tells whether everything is as wanted.
func (p Plan) Ready() bool {
	return !slices.ContainsFunc(p.Objects, func(o Object) bool { return !o.Ready() })
}

// Look is all that must be read before the plan can be completed.
func (p Plan) Look() Look {
	var l Look
	for _, o := range p.Objects {
		l.add(o.Look)
	}
	slices.Sort(l.Configs)
	l.Configs = slices.Compact(l.Configs)
	slices.Sort(l.Snapshots)
	l.Snapshots = slices.Compact(l.Snapshots)
	slices.Sort(l.Agents)
	l.Agents = slices.Compact(l.Agents)
	slices.Sort(l.Status)
	l.Status = slices.Compact(l.Status)
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

// For plans everything: images and shares first, since guests need them, then
// guests, snapshots, and what is to be pruned.
func For(want model.Desired, have *model.Observed) Plan {
	p := newPlanner(want, have)
	var out Plan
	for _, i := range want.Images {
		out.Objects = append(out.Objects, p.image(i))
	}
	for _, s := range want.Shares {
		out.Objects = append(out.Objects, p.share(s))
	}
	out.Objects = append(out.Objects, p.guests()...)
	out.Objects = append(out.Objects, p.groups()...)
	for _, s := range want.Snapshots {
		out.Objects = append(out.Objects, p.snapshot(s))
	}
	if want.Prune {
		out.Objects = append(out.Objects, p.prune()...)
	}
	for i := range out.Objects {
		p.spare(&out.Objects[i])
	}
	if want.Foresee {
		p.foresee(&out)
	}
	return out
}

// spare asks nothing of nodes that are offline: an object that needs to know more of
// a guest there waits.
func (p *planner) spare(o *Object) {
	off := func(id int) bool {
		g := p.have.Guests[id]
		if g == nil {
			return false
		}
		if n := p.have.Nodes[g.Node]; n != nil && n.Online {
			return false
		}
		if o.Wait == nil {
			o.wait(WaitNode, fmt.Sprintf("node %s, which has VM %d, is offline", g.Node, id))
		}
		return true
	}
	l := &o.Look
	for _, ids := range []*[]int{&l.Configs, &l.Snapshots, &l.Status, &l.Agents} {
		*ids = slices.DeleteFunc(slices.Clone(*ids), off)
	}
}

// guests plans all guests: those that others are copied from before the copies, in
// the order of the manifests otherwise.
func (p *planner) guests() []Object {
	order := make([]int, len(p.want.VMs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return p.copiesBefore(p.want.VMs[a]) - p.copiesBefore(p.want.VMs[b]) })
	out := make([]Object, len(order))
	for _, i := range order {
		o := p.vm(p.want.VMs[i])
		changing := len(o.Steps) > 0 || !o.Look.Empty()
		p.unready[o.Owner.Key] = changing || o.Wait != nil
		p.changing[o.Owner.Key] = changing || o.Wait != nil && o.Wait.Reason != WaitAgent
		out[i] = o
	}
	return out
}

// copiesBefore is how many guests stand before this one in a row of copies.
func (p *planner) copiesBefore(v model.VM) (n int) {
	for n < len(p.want.VMs) {
		from, ok := p.vms[v.Source.VM]
		if !ok {
			break
		}
		v = from
		n++
	}
	return n
}

// planner is what the parts of one plan share.
type planner struct {
	want   model.Desired
	have   *model.Observed
	images map[model.Key]model.Image
	vms    map[model.Key]model.VM
	found  map[model.Key]finding
	placed map[int]model.Placement // guests this plan makes
	load   *nodeLoad
	// unnamed are guests whose names aren't known; nil: not looked for yet.
	unnamed []*model.Guest
	// unready are the guests that this plan still has something to do for.
	unready map[model.Key]bool
	// changing are those of them that don't only wait for their agent.
	changing map[model.Key]bool
}

func newPlanner(want model.Desired, have *model.Observed) *planner {
	p := &planner{
		want: want, have: have,
		images: make(map[model.Key]model.Image, len(want.Images)),
		vms:    make(map[model.Key]model.VM, len(want.VMs)),
		found:  map[model.Key]finding{},
		placed: map[int]model.Placement{}, unready: map[model.Key]bool{}, changing: map[model.Key]bool{},
	}
	for _, i := range want.Images {
		p.images[i.Owner.Key] = i
	}
	for _, v := range want.VMs {
		p.vms[v.Owner.Key] = v
	}
	return p
}
