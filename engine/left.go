package engine

import (
	"slices"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Disks that Proxmox has left go by steps of plans. What tasks of other processes have left shows in
// the lists, when nothing else may have to be planned.

// noticeLeft plans the removal of what tasks of other processes have left, if the lists show such tasks.
func (r *run) noticeLeft() {
	found := false
	r.e.observer.View(func(have *model.Observed) {
		found = have.Unclean
		for _, l := range have.Left {
			found = found || l.Owner == (model.Owner{}) && (l.Found == nil && !have.At.Before(l.Next) || len(l.Removable()) > 0)
		}
	})
	if !found {
		return
	}
	for _, part := range r.parts {
		if o := part.objects[model.Leftovers]; o == nil {
			r.add(part, plan.Object{Owner: model.Owner{Set: part.want.All().Set, Key: model.Leftovers}})
		} else if o.phase == done {
			o.phase = recheck
			r.due[o] = true
		}
	}
}

// cleans reports whether a part cleans up what others' tasks have left: in a session only parts with
// objects, whose callers have agreed to it.
func (r *run) cleans(p *part) bool { return r.live == nil || len(p.objects) > 0 }

// nameLeft names the disks that are still there when a run ends that has seen them being left: nothing
// in Proxmox names them.
func (r *run) nameLeft() {
	if r.ctx.Err() == nil {
		return
	}
	var lefts []model.Left
	r.e.observer.View(func(have *model.Observed) { lefts = have.Left })
	for _, l := range lefts {
		at := slices.IndexFunc(r.order, func(o *object) bool { return o.owner == l.Owner })
		if at < 0 || l.Found != nil && len(l.Removable()) == 0 {
			continue
		}
		r.emit(r.order[at], Event{
			Kind: Failed, Action: "RemoveDisk", Step: "remove what Proxmox has left",
			Text: "stopped before what Proxmox has left was removed: " + l.String(), Hint: model.Advice{Text: "remove it by hand"},
		})
	}
}
