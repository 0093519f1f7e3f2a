package plan

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// A rollout group may have guests that several sessions look after, each some of them. Who
// restarts or replaces one asks the others which of theirs are unavailable.

// Group returns the wanted state reduced to the guests of a rollout group and what their
// plans depend on.
func (w *Wanted) Group(group string) model.Desired {
	if group == everyone {
		return w.all
	}
	return w.For(w.rollouts[group]...)
}

// Away returns the unavailable guests of a rollout group. unknown are guests whose
// availability isn't known before look was read.
func Away(want model.Desired, have *model.Observed, group string) (away, unknown []model.Absent, look Look) {
	p := newPlanner(want, have)
	// Those that aren't made yet are left out: only their plans would show how they are, and no rollout depends on them.
	r := &rollout{p: p, objects: make([]Object, len(want.VMs))}
	for i, v := range want.VMs {
		if !slices.Contains(RolledWith(want, v), group) {
			continue
		}
		one := model.Absent{Key: v.Owner.Key, UnderWay: have.Rolling[v.Owner.Key]}
		switch down, unsure := r.unavailable(i); {
		case down:
			away = append(away, one)
		case !unsure.Empty():
			one.Unknown = "it hasn't been read yet whether it is up"
			unknown = append(unknown, one)
			look.Add(unsure)
		}
	}
	return away, unknown, look
}

// Counts reports whether a guest of unknown state counts as unavailable in its rollout group: it
// should run, and was made.
func Counts(v model.VM) bool { return !v.Deleted && v.Power == model.PowerOn && v.Remembered != 0 }

// whoIsAway names an unavailable guest of another caller, for an object of a namespace. Guests of other
// namespaces aren't named, unless one person wants all of them.
func whoIsAway(a model.Absent, namespace, group string) string {
	name := a.Key.String()
	if a.Key.Namespace != namespace && group != everyone {
		name = fmt.Sprintf("a machine of another namespace that uses %s", group)
		if a.Unknown != "" {
			name += ", and whose state isn't known at present,"
		}
		return name
	}
	if a.Unknown != "" {
		name += fmt.Sprintf(", whose state isn't known (%s),", a.Unknown)
	}
	return name
}
