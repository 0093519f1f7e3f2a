package operator

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// Conditions beside those of every object, each with a reason and a sentence of its own.
const (
	// Reachable is Unknown while Proxmox can't be asked: the others are about what was
	// seen last.
	conditionReachable = "Reachable"
	// UpToDate says that nothing is to be done in Proxmox, whether or not the machine can
	// be used.
	conditionUpToDate = "UpToDate"
	// RestartRequired says that a change applies at the next restart.
	conditionRestart = "RestartRequired"
)

// aspects are the conditions of an object with guests that stand for themselves.
func aspects(v status.Verdict) []status.Condition {
	return []status.Condition{reachable(v), upToDate(v), restartRequired(v)}
}

func reachable(v status.Verdict) status.Condition {
	c := status.Condition{Type: conditionReachable, Status: "True", Reason: model.ReasonConnected, Message: "Proxmox answers"}
	switch {
	case v.Reason.Facts().Away:
		c.Status, c.Reason, c.Message = "Unknown", v.Reason, v.Message
	case v.Reason.Facts().Unasked:
		c = unknown(c, v)
	}
	return c
}

func upToDate(v status.Verdict) status.Condition {
	c := status.Condition{Type: conditionUpToDate, Status: "False", Reason: v.Reason, Message: "the machine isn't as its object says, see Ready"}
	switch {
	case v.State == model.StateReady, v.Reason == model.WaitAgent:
		c.Status, c.Reason, c.Message = "True", model.ReasonUpToDate, "nothing is to be done"
	case v.Reason == model.WaitRestart:
		c.Message = "a change waits for a restart"
	case v.State == model.StateUnread:
		c.Status, c.Message = "Unknown", "not known yet, see Ready"
	default:
		c = unknown(c, v)
	}
	return c
}

func restartRequired(v status.Verdict) status.Condition {
	c := status.Condition{Type: conditionRestart, Status: "False", Reason: "NotRequired", Message: "no change waits for a restart"}
	if v.Reason == model.WaitRestart {
		c.Status, c.Reason, c.Message = "True", v.Reason, v.Message
		return c
	}
	return unknown(c, v)
}

// unknown is a condition of which nothing is known while Proxmox can't be asked, or isn't.
// The sentence is another condition's.
func unknown(c status.Condition, v status.Verdict) status.Condition {
	switch {
	case v.Reason.Facts().Away:
		c.Status, c.Reason, c.Message = "Unknown", v.Reason, "not known, see Reachable"
	case v.Reason.Facts().Unasked:
		c.Status, c.Reason, c.Message = "Unknown", "NotAsked", "not known: Proxmox isn't asked about this object, see Ready"
	}
	return c
}

// plainly has a condition that doesn't hold say so, instead of repeating what another
// one says.
func plainly(c status.Condition) status.Condition {
	switch {
	case c.Status == "True":
	case c.Type == status.ConditionProgressing:
		c.Reason, c.Message = "Idle", "nothing is being done"
	case c.Type == status.ConditionDegraded:
		c.Reason, c.Message = "AsExpected", "nobody has to do anything"
	}
	return c
}

// briefly has a condition of a machine refer to the one of its aspects that has the sentence.
func briefly(c status.Condition) status.Condition {
	switch {
	case c.Type != status.ConditionDegraded || c.Status != "True":
	case c.Reason == model.WaitRestart:
		c.Message = "a change waits for a restart, see " + conditionRestart
	case c.Reason.Facts().Away:
		c.Message = "Proxmox can't be asked, see " + conditionReachable
	}
	return c
}

// unreachable notes that what an object says is what was seen last.
func unreachable(obj object, v status.Verdict) {
	setCondition(obj, reachable(v), obj.Common().ObservedGeneration)
}

func setCondition(obj object, c status.Condition, version int64) {
	meta.SetStatusCondition(&obj.Common().Conditions, metav1.Condition{
		Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: string(c.Reason), Message: c.Message, ObservedGeneration: version,
	})
}
