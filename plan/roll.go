package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Guests are restarted and replaced one after the other: the next when the former is ready
// again, and none any more when one doesn't come back. One that isn't ready itself waits only
// for those that are under way: nobody misses it, and the change may be what mends it. Whether a guest is ready is looked at,
// not remembered, so that a process that was killed in the middle goes on at the same place.

// everyone is the group of all guests that are wanted.
const everyone = ""

// roll holds back restarts and replacements that would make too many guests unavailable. The objects are those
// of the wanted guests, in the same order.
func (p *planner) roll(objects []Object) {
	var turn []int
	for i := range objects {
		if p.disrupts(i, objects[i]) {
			turn = append(turn, i)
		}
	}
	if len(turn) == 0 {
		return
	}
	slices.SortStableFunc(turn, func(a, b int) int {
		return model.CompareNames(p.want.VMs[a].Owner.Name, p.want.VMs[b].Owner.Name)
	})
	r := &rollout{p: p, objects: objects, members: map[string][]int{}, begun: map[int]bool{}, line: map[string][]int{}, open: map[string]Look{}}
	for i := range p.want.VMs {
		for _, group := range p.rolledWith(i) {
			r.members[group] = append(r.members[group], i)
		}
	}
	for _, i := range turn {
		if p.have.Rolling[objects[i].Owner.Key] {
			r.begun[i] = true
		}
	}
	for _, i := range turn {
		if !r.begun[i] {
			r.decide(i)
		}
	}
}

// disrupts reports whether a plan restarts or replaces a guest that is to run, and that may
// be changed.
func (p *planner) disrupts(i int, o Object) bool {
	return p.want.VMs[i].Hold == (model.Hold{}) && slices.ContainsFunc(o.Steps, func(s Step) bool { return disruptive(p.want.VMs[i], s) })
}

// disruptive reports whether a step makes a guest that is to run unavailable for some time.
func disruptive(v model.VM, s Step) bool {
	return !v.Deleted && (s.Effect == Replace || s.Effect == Restart && (v.Power == model.PowerOn || v.Power == ""))
}

// Disrupts reports whether the object's plan restarts or replaces a guest that should run.
func (o Object) Disrupts(v model.VM) bool {
	return slices.ContainsFunc(o.Steps, func(s Step) bool { return disruptive(v, s) })
}

// RolledWith returns the rollout groups of a guest.
func RolledWith(want model.Desired, v model.VM) []string {
	groups := v.Rollout.Groups
	if !want.MaxUnavailable.IsZero() {
		groups = append(slices.Clip(groups), everyone)
	}
	return groups
}

func (p *planner) rolledWith(i int) []string { return RolledWith(p.want, p.want.VMs[i]) }

// rollout decides who is next.
type rollout struct {
	p       *planner
	objects []Object
	members map[string][]int
	begun   map[int]bool     // those that this plan restarts or replaces
	line    map[string][]int // those that wait, in their order
	// open is what has to be read before it is known whether those that come first may begin: others
	// don't begin before that.
	open map[string]Look
}

func (r *rollout) decide(i int) {
	var look Look
	for _, group := range r.p.rolledWith(i) {
		limit := r.p.want.VMs[i].Rollout.Max
		if group == everyone {
			limit = r.p.want.MaxUnavailable
		}
		away, unknown := r.away(i, group)
		elsewhere, spread := r.p.have.Elsewhere[group]
		most := limit.Of(len(r.members[group]) + elsewhere.Guests)
		if len(away)+len(elsewhere.Away) >= most {
			down, unsure := r.unavailable(i)
			if !unsure.Empty() {
				r.read(i, unsure)
				return
			}
			before, others := away, elsewhere.Away
			if down {
				before, others = r.underWay(away), elsewhere.UnderWay()
			}
			if len(before)+len(others) >= most {
				r.hold(i, group, before, others, most)
				return
			}
			// Nobody misses it, and the change may be what makes it ready.
		}
		if spread && !elsewhere.Known {
			unknown.Groups = append(unknown.Groups, group)
		}
		look.Add(unknown)
		look.Add(r.open[group])
	}
	if look.Empty() {
		r.begun[i] = true
		return
	}
	r.read(i, look)
}

// read makes a guest, and those of its groups that come after it, wait until facts are read.
func (r *rollout) read(i int, look Look) {
	r.objects[i].Look.Add(look)
	for _, group := range r.p.rolledWith(i) {
		if _, open := r.open[group]; !open {
			r.open[group] = look
		}
	}
}

// away returns the other guests of a group that are unavailable. Look is what has to be read to
// know that of all of them.
func (r *rollout) away(i int, group string) (away []int, look Look) {
	name := r.p.want.VMs[i].Owner.Name
	for _, m := range r.members[group] {
		if m == i {
			continue
		}
		switch down, unknown := r.unavailable(m); {
		case down:
			away = append(away, m)
		case !unknown.Empty():
			look.Add(unknown)
		case model.CompareNames(r.p.want.VMs[m].Owner.Name, name) < 0:
			// It may have to be restarted first.
			look.Configs = append(look.Configs, r.objects[m].Look.Configs...)
			look.Status = append(look.Status, r.objects[m].Look.Status...)
		}
	}
	return away, look
}

// underWay returns those of some guests that are being restarted or replaced.
func (r *rollout) underWay(guests []int) (list []int) {
	for _, i := range guests {
		if r.begun[i] || r.p.have.Rolling[r.p.want.VMs[i].Owner.Key] {
			list = append(list, i)
		}
	}
	return list
}

// unavailable reports whether a guest that is to run doesn't, or isn't ready.
func (r *rollout) unavailable(i int) (down bool, look Look) {
	v := r.p.want.VMs[i]
	if v.Deleted || v.Power != model.PowerOn {
		return false, Look{}
	}
	if r.begun[i] || r.p.have.Rolling[v.Owner.Key] {
		return true, Look{}
	}
	f := r.p.find(v.Owner, v.VMID, v.Range)
	g := f.guest
	switch {
	case !f.look.Empty():
		return false, f.look
	case g == nil:
		return r.expected(i)
	case slices.ContainsFunc(r.p.have.TasksOf(g.VMID), func(t model.Task) bool { return powers(t.Type) }):
		return true, Look{}
	case g.Status == model.StatusUnknown || g.StalePower && !r.p.want.Quick:
		return false, Look{Status: []int{g.VMID}}
	case g.Status != model.StatusRunning:
		return true, Look{}
	case len(g.Addresses) > 0:
		return false, Look{}
	case !v.WaitAddress || r.p.want.Unheard || g.Config != nil && !model.AgentOn(g.Config.Options):
		if g.Unseen {
			return false, Look{Status: []int{g.VMID}}
		}
		return false, Look{}
	case g.Agent == model.AgentUnasked:
		return false, Look{Ready: []int{g.VMID}}
	}
	return true, Look{}
}

// expected reports whether an absent guest was there before, or is being made: guests that were never made don't
// hold up the others.
func (r *rollout) expected(i int) (down bool, look Look) {
	switch o := r.objects[i]; {
	case r.p.want.VMs[i].Remembered != 0:
		return true, Look{}
	case r.p.want.VMs[i].Hold != (model.Hold{}):
		return false, Look{}
	case o.Wait != nil:
		return !o.Wait.Reason.Facts().Unmade, Look{}
	case !o.Look.Empty():
		return false, o.Look
	default:
		return len(o.Steps) > 0, Look{}
	}
}

// powers reports whether a task of that type stops or starts a guest.
func powers(task string) bool {
	switch task {
	case "qmstart", "qmstop", "qmshutdown", "qmreboot", "qmreset", "qmrollback", "qmsuspend", "qmresume", "hastart", "hastop":
		return true
	}
	return false
}

// hold makes a guest wait for its turn. In a plan that is shown, its steps follow those of the guests before it. In a plan
// that is carried out, it waits for the guests that are unavailable now; the message also names the guests before it,
// as the plan that was shown did.
func (r *rollout) hold(i int, group string, before []int, others []model.Absent, limit int) {
	o := &r.objects[i]
	var here, elsewhere, line []string
	for _, a := range others {
		elsewhere = append(elsewhere, whoIsAway(a, o.Owner.Namespace, group))
	}
	for _, n := range before {
		here = append(here, r.p.want.VMs[n].Owner.Key.String())
	}
	for _, n := range r.line[group] {
		line = append(line, r.p.want.VMs[n].Owner.Key.String())
	}
	r.line[group] = append(r.line[group], i)
	if r.p.want.Foresee {
		names := slices.Concat(elsewhere, here, line)
		o.wait(model.WaitRollout, fmt.Sprintf("%s (at most %d unavailable)", readyFirst(names[max(0, len(names)-limit):]), limit))
		return
	}
	names := slices.Concat(here, elsewhere)
	text := readyFirst(names[:min(limit, len(names))])
	switch line = line[max(0, len(line)-limit):]; len(line) {
	case 0:
	case 1:
		text += "; " + line[0] + " comes before it"
	default:
		text += "; " + strings.Join(line, ", ") + " come before it"
	}
	o.wait(model.WaitRollout, fmt.Sprintf("%s (at most %d unavailable)", text, limit))
	held := map[int]bool{}
	o.Steps = slices.DeleteFunc(o.Steps, func(s Step) bool {
		held[s.N] = disruptive(r.p.want.VMs[i], s) || slices.ContainsFunc(s.After, func(n int) bool { return held[n] })
		return held[s.N]
	})
}

// readyFirst says which guests a guest waits for.
func readyFirst(names []string) string {
	names = slices.Compact(names)
	first := strings.Join(names, ", ")
	if len(names) > 1 {
		first = "one of " + first
	}
	return first + " has to be ready first"
}
