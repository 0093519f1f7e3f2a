package operator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// verdict returns the verdict on an object of a kind; false: it isn't known yet.
func (e entry) verdict(kind string) (status.Verdict, bool) {
	if e.found.problem != "" {
		return e.found.wrong(), true
	}
	switch {
	case e.found.deleting && (!hasGuests(kind) || kind == "VMImage" && e.found.machines > 0):
		text := status.Count(e.found.machines, "machine uses it", "machines use it") + "; it goes when none does"
		return status.Verdict{State: model.StateBlocked, Reason: model.WaitDependents, Message: text}, true
	case !hasGuests(kind):
		return status.Kubernetes.Of(plan.Object{}), true
	case e.found.early, e.found.short:
		return status.Verdict{}, false
	case e.found.provider != "" && (len(e.outcomes) < e.found.tellers() || e.found.group && len(e.found.members) == 0):
		return status.Verdict{State: model.StateBlocked, Reason: model.ReasonProvider, Message: e.found.provider}, true
	case len(e.outcomes) < e.found.tellers():
		return status.Verdict{}, false
	case len(e.found.providers) == 0 && kind == "VMImage":
		return e.found.unused(), true
	case e.found.group && len(e.found.members) == 0:
		return status.Kubernetes.Of(plan.Object{}), true // none is wanted
	}
	for _, o := range e.outcomes {
		if o.Version != e.found.edition {
			return status.Verdict{}, false // it is about what was wanted before
		}
	}
	worst, ok := e.worst()
	if !ok {
		return status.Verdict{}, false
	}
	v := status.Kubernetes.Outcome(worst)
	v.Message = nearby(worst.Owner.Namespace, v.Message)
	switch {
	case !e.found.group:
	case v.State != model.StateReady && v.State != model.StateGone:
		v.Message = worst.Owner.Name + ": " + v.Message
	case len(e.surplus()) > 0 && !e.found.deleting:
		return e.found.tooMany(e.surplus()), true
	}
	return v, true
}

// unused says that no machine is made from an image.
func (f found) unused() status.Verdict {
	text := "no machine needs it"
	switch {
	case f.lent > 0 && f.fetched:
		return status.Verdict{State: model.StateBlocked, Reason: model.WaitSource, Message: status.Count(f.lent, "machine of another namespace waits", "machines of other namespaces wait") +
			" for it, and it isn't fetched: a Provider of this namespace does that, and none is named for it (spec.providerRef)"}
	case f.lent > 0 && f.lent == f.machines:
		text = status.Count(f.lent, "machine of another namespace uses it", "machines of other namespaces use it")
	case f.machines > 0:
		text = status.Count(f.machines, "machine names it and can't be made yet", "machines name it, and none of them can be made yet")
	}
	return status.Verdict{State: model.StateReady, Reason: model.ReasonUnused, Message: text}
}

// wrong says why an object isn't made so.
func (f found) wrong() status.Verdict {
	return status.Verdict{State: model.StateBlocked, Reason: cmp.Or(f.reason, model.ReasonInvalid), Message: f.problem}
}

// worst is the outcome that an object is judged by if there are several: of those that wait, one
// that somebody has to do something about, and not one that waits for another.
func (e entry) worst() (worst engine.Outcome, ok bool) {
	var who teller
	for from, o := range e.outcomes {
		if !ok || cmp.Or(rank(o.State)-rank(worst.State), urgency(o)-urgency(worst), model.CompareNames(who.member, from.member), cmp.Compare(who.provider.String(), from.provider.String())) > 0 {
			worst, who, ok = o, from, true
		}
	}
	return worst, ok
}

func rank(s engine.State) int {
	return slices.Index([]engine.State{engine.StateGone, engine.StateReady, engine.StateChanging, engine.StateWaiting, engine.StateRefused, engine.StateFailed}, s)
}

// urgency is the higher the more a person has to do about what an outcome waits for.
func urgency(o engine.Outcome) int {
	f := o.Reason.Facts()
	if f.Asks {
		return len(endings)
	}
	return slices.Index(endings, f.Ends)
}

// endings are who ends a wait, the most patient ones first.
var endings = []model.Ending{model.EndsByObject, model.EndsByItself, model.EndsByReturn, model.EndsByHolder, model.EndsByPerson}

// nearby leaves the namespace of an object out of what is said about it, since what
// it is about is in the same.
func nearby(namespace, text string) string {
	for _, word := range []string{"vm/", "clone/", "image/", "snapshot/"} {
		text = strings.ReplaceAll(text, word+namespace+"/", word)
	}
	return text
}

// free reports whether nothing keeps an object any more that is being deleted.
func (e entry) free(obj object) bool {
	switch obj.(type) {
	case *api.Provider:
		return e.found.needs() == ""
	case *api.VMClass, *api.VMPlacementPolicy:
		return e.found.machines == 0
	case *api.VMImage:
		return e.found.problem == "" && e.found.machines == 0 && e.gone()
	case *api.VirtualMachine, *api.VMClone:
		nothing := e.found.group && len(e.found.members) == 0
		return e.found.problem == "" && (nothing || len(e.found.providers) > 0 && e.gone())
	}
	return e.found.problem == "" && e.gone()
}

// stuck reports whether it can't be found out what an object has in Proxmox.
func (e entry) stuck(kind string) bool {
	v, ok := e.verdict(kind)
	return ok && (v.Reason.Facts().Unasked || v.Reason.Facts().Away)
}

// neverMade reports whether nothing was ever made for an object. It is written down
// before that is done, in the status; an object that was restored from a backup has none,
// and is known by the UID that it had before.
func neverMade(obj object) bool {
	restored := manifest.Restored(obj)
	switch o := obj.(type) {
	case *api.VirtualMachine:
		return !restored && o.Status.VMID == 0 && len(o.Status.Members) == 0
	case *api.VMClone:
		return !restored && o.Status.VMID == 0
	case *api.VMImage:
		return o.Spec.ISO != "" || !restored && len(o.Status.Providers) == 0
	}
	return false
}
func isMachine(obj object) bool {
	switch obj.(type) {
	case *api.VirtualMachine, *api.VMClone:
		return true
	}
	return false
}

// gone reports whether nothing of an object is left anywhere.
func (e entry) gone() bool {
	for _, o := range e.outcomes {
		if o.State != engine.StateGone {
			return false
		}
	}
	return len(e.outcomes) == e.found.tellers()
}

// forceHint says how an object can be let go that can't be deleted otherwise.
func forceHint(key model.Key) string {
	return fmt.Sprintf("; to let the object go and leave in Proxmox what is there: kubectl annotate -n %s %s %s %s=true", cmp.Or(key.Namespace, "default"), strings.ToLower(key.Kind), key.Name, api.ForceDelete)
}
