package plan

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Agreement is what a user has agreed to after seeing plans. It doesn't cover disruptive
// steps that become necessary later, because of changes or of facts that weren't known. The
// zero value agrees to no disruptive step.
type Agreement struct {
	// Allow are effects that are agreed to wherever manifests need them. Loss of data means
	// disks and states, not guests and snapshots.
	Allow model.Allow

	shown map[stake]bool
}

// stake is something that can be lost.
type stake struct {
	owner model.Owner
	what  string
}

// Add agrees to all steps of a plan.
func (a *Agreement) Add(p Plan) {
	if a.shown == nil {
		a.shown = map[stake]bool{}
	}
	for _, o := range p.Objects {
		for _, s := range o.Steps {
			for _, what := range stakes(s) {
				a.shown[stake{o.Owner, what}] = true
				if model.FactsOf(s.Action).Loses == model.LosesGuest {
					a.shown[stake{what: what}] = true // with what Proxmox may leave of it
				}
			}
		}
	}
}

// Limit refuses the steps that weren't agreed to, and those that come after them.
// When something would be lost for good, nothing else is done either.
func (a *Agreement) Limit(o Object) Object {
	o = a.postpone(o)
	late := map[int]bool{}
	grave := false
	for _, s := range o.Steps {
		if a.covers(o.Owner, s) {
			continue
		}
		late[s.N] = true
		grave = grave || rank(s.Effect) > rank(Restart)
		o.Refused = append(slices.Clip(o.Refused), Refusal{What: s.What, Why: s.Why, Diff: s.Diff, Effect: s.Effect, Allow: model.AllowLate, Late: true})
	}
	if len(late) == 0 {
		return o
	}
	var steps []Step
	for _, s := range o.Steps {
		after := slices.ContainsFunc(s.After, func(n int) bool { return late[n] })
		if late[s.N] = late[s.N] || after || grave; !late[s.N] {
			steps = append(steps, s)
		}
	}
	o.Steps = steps
	return o
}

// postpone drops the removal of leftover disks that the plan didn't show when it was agreed to: nothing
// else depends on it, and the next plan shows it.
func (a *Agreement) postpone(o Object) Object {
	out := map[int]bool{}
	for _, s := range o.Steps {
		if r, ok := s.Action.(model.RemoveDisk); ok && !a.covers(o.Owner, s) {
			out[s.N] = true
			o.Notes = append(slices.Clip(o.Notes), Note{Text: fmt.Sprintf("%s is still there: %s; the next plan shows it", r.Volume, s.Why)})
		}
	}
	if len(out) == 0 {
		return o
	}
	var steps []Step
	for _, s := range o.Steps {
		if !out[s.N] {
			s.After = slices.DeleteFunc(slices.Clone(s.After), func(n int) bool { return out[n] })
			steps = append(steps, s)
		}
	}
	o.Steps = steps
	return o
}

func (a *Agreement) covers(owner model.Owner, s Step) bool {
	switch {
	case rank(s.Effect) == rank(Restart) && a.Allow.Restart, s.Effect == Replace && a.Allow.Replace:
		return true
	case s.Effect == LosesData && a.Allow.Data:
		if loss := model.FactsOf(s.Action).Loses; loss == model.LosesDisks || loss == model.LosesState {
			return true
		}
	}
	_, left := s.Action.(model.RemoveDisk)
	return !slices.ContainsFunc(stakes(s), func(what string) bool { return !a.shown[stake{owner, what}] && !(left && a.shown[stake{what: what}]) })
}

// stakes returns what can be lost by a step. The same loss has the same name in each plan, whatever
// else the step does.
func stakes(s Step) []string {
	if rank(s.Effect) == 0 {
		return nil
	}
	if rank(s.Effect) == rank(Restart) {
		return []string{string(s.Effect)}
	}
	if model.FactsOf(s.Action).Loses == model.LosesGuest {
		return []string{fmt.Sprintf("VM %d", s.Action.Guest())}
	}
	if change, ok := s.Action.(model.Configure); ok {
		var disks []string
		for _, slot := range change.Delete {
			if isDisk(slot) {
				disks = append(disks, slot)
			}
		}
		if len(disks) > 0 {
			return disks
		}
	}
	return []string{s.What + ": " + s.Reason()}
}

func isDisk(slot string) bool {
	return slices.ContainsFunc([]string{"scsi", "virtio", "sata", "ide"}, func(family string) bool { return isSlot(slot, family) })
}
