package operator

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// verdict is how an object is, in the words of its status; false: that stays as it
// is.
func (c *objects) verdict(obj object, known entry) (status.Verdict, bool) {
	if p, ok := obj.(*api.Provider); ok {
		return c.providerVerdict(p, known)
	}
	v, ok := known.verdict(c.kind.Name)
	switch {
	case !ok:
		return v, false
	case known.found.deleting && c.kind.guests && (v.State == model.StateBlocked || v.State == model.StateFailed):
		v.Message += forceHint(keyOf(obj))
	case v.Reason.Facts().Away && isReady(obj) && obj.Common().ObservedGeneration == known.found.version:
		return v, false // it was up to date when it could be seen last
	}
	return v, true
}

func (c *objects) providerVerdict(p *api.Provider, known entry) (status.Verdict, bool) {
	switch {
	case known.found.deleting && known.found.reason != model.ReasonElsewhere:
		message := known.found.needs() + " on it; it goes when nothing is" + forceHint(keyOf(p))
		return status.Verdict{State: model.StateBlocked, Reason: model.WaitDependents, Message: message}, true
	case known.found.problem != "":
		return known.found.wrong(), true
	}
	v, ok := c.providers.of(keyOf(p)).verdict(known.found.version)
	if v.Reason == model.ReasonConnecting && isReady(p) && p.Status.ObservedGeneration == known.found.version {
		return v, false // it was so for whoever worked before
	}
	return v, ok
}

// complain emits a warning when the spec of an object is invalid.
func (c *objects) complain(before, obj object) {
	was, is := meta.FindStatusCondition(before.Common().Conditions, status.ConditionReady), meta.FindStatusCondition(obj.Common().Conditions, status.ConditionReady)
	if !model.Reason(is.Reason).Facts().Unasked {
		return
	}
	if was == nil || was.Reason != is.Reason || was.Message != is.Message {
		c.events.Eventf(obj, nil, corev1.EventTypeWarning, EventInvalid, is.Reason, "%s", is.Message)
	}
}

// announce emits an event that a Provider's Proxmox answers, or why it doesn't.
func (c *objects) announce(before, p *api.Provider) {
	was, is := meta.FindStatusCondition(before.Status.Conditions, status.ConditionReady), meta.FindStatusCondition(p.Status.Conditions, status.ConditionReady)
	if model.Reason(is.Reason) == model.ReasonConnecting || was != nil && was.Reason == is.Reason {
		return
	}
	kind, reason := corev1.EventTypeWarning, EventFailed
	switch {
	case is.Status == metav1.ConditionTrue:
		kind, reason = corev1.EventTypeNormal, EventReady
	case model.Reason(is.Reason) == model.WaitDependents:
		reason = EventWaiting
	}
	c.events.Eventf(p, nil, kind, reason, is.Reason, "%s", is.Message)
}

// fill writes down what is known of an object beside how it is.
func (e entry) fill(obj object) {
	switch o := obj.(type) {
	case *api.VirtualMachine:
		if o.Spec.Count != nil {
			e.fillGroup(o)
			return
		}
		e.fillMachine(&o.Status)
	case *api.VMClone:
		e.fillMachine(&o.Status)
	case *api.VMImage:
		o.Status.Machines = e.found.machines
		o.Status.Node, o.Status.VMID = "", 0
		for _, provider := range e.found.providers { // of several, that of the last one
			out := e.outcomes[teller{provider: provider}]
			o.Status.Node, o.Status.VMID = cmp.Or(out.Node, o.Status.Node), cmp.Or(out.VMID, o.Status.VMID)
		}
		o.Status.Templates = e.templates(o.Status.Templates)
	case *api.VMSnapshot:
		for _, out := range e.outcomes {
			o.Status.Node, o.Status.VMID = out.Node, out.VMID
		}
		o.Status.Snapshot = e.found.snapshot
	case *api.VMClass:
		o.Status.Machines = e.found.machines
	case *api.VMPlacementPolicy:
		o.Status.Machines = e.found.machines
	case *api.Provider:
		o.Status.Machines = e.found.machines
	}
}

func (e entry) fillMachine(s *api.MachineStatus) {
	for from, out := range e.outcomes {
		s.Provider, s.Task = from.provider.Name, out.Task
		s.Node = out.Node
		s.Addresses, s.LeasedAddresses = addressesOf(out, s.Addresses, s.VMID), leasedOf(out, s.LeasedAddresses)
		s.State = status.GuestState(out.Status, out.Reason, s.VMID != 0)
		s.VMID = cmp.Or(out.VMID, s.VMID)
		s.VerifiedAt = verifiedAt(s.VerifiedAt, out.Verified)
	}
}

// verifyPause is how much later a machine has to be verified again for that to be worth
// another write to Kubernetes.
const verifyPause = 10 * time.Minute

// verifiedAt is when a machine was verified, as its status says it.
func verifiedAt(was *metav1.Time, now time.Time) *metav1.Time {
	if now.IsZero() || was != nil && now.Sub(was.Time) < verifyPause {
		return was
	}
	return &metav1.Time{Time: now.Truncate(time.Second)}
}

// addressesOf are the addresses of a machine, of which some were known when it had a VMID.
func addressesOf(out engine.Outcome, known []string, vmid int) []string {
	switch another := out.VMID != 0 && out.VMID != vmid; {
	case len(out.Addresses) > 0:
		return status.Addresses(out.Addresses)
	case another || unheard(out):
		return nil
	}
	return known
}

// leasedOf are the addresses that a machine has from pools, of which some were known.
func leasedOf(out engine.Outcome, known []string) []string {
	if out.Leased == nil {
		return known
	}
	var list []string
	for _, a := range out.Leased {
		list = append(list, a.String())
	}
	return list
}

// unheard reports whether a machine has no address that could be shown: it doesn't run, or
// its agent was asked. What was known before a restart of the operator stays until then.
func unheard(out engine.Outcome) bool {
	off := out.Status != model.StatusRunning && out.Status != model.StatusUnknown
	silent := out.Wait != nil && out.Wait.Reason == model.WaitAgent
	return off || silent || out.State == engine.StateReady
}

// settle writes down how an object is. Since when it waits is kept as long as it
// waits for the same.
func settle(obj object, v status.Verdict, version int64) {
	s := obj.Common()
	waits := v.State != model.StateReady && v.State != model.StateGone
	same := false
	if old := meta.FindStatusCondition(s.Conditions, status.ConditionReady); old != nil {
		same = old.Reason == string(v.Reason) && s.WaitingSince != nil
	}
	s.ObservedGeneration = version
	for _, c := range v.Conditions() {
		if c = plainly(c); isMachine(obj) {
			c = briefly(c)
		}
		setCondition(obj, c, version)
	}
	if isMachine(obj) {
		for _, c := range aspects(v) {
			setCondition(obj, c, version)
		}
	}
	switch {
	case !waits:
		s.Waiting, s.WaitingSince = "", nil
	case same:
		s.Waiting = v.Message
	default:
		s.Waiting, s.WaitingSince = v.Message, &metav1.Time{Time: time.Now().Truncate(time.Second)}
	}
}

func isReady(obj object) bool {
	return meta.IsStatusConditionTrue(obj.Common().Conditions, status.ConditionReady)
}
