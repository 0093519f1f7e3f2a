package karpenter

import (
	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
)

// Reasons of events.
const (
	eventReady      = "Ready"      // nodes can be made from it, or by it
	eventNotReady   = "NotReady"   // they can't any more, or not yet
	eventNoCapacity = "NoCapacity" // no zone has room for a machine of the class
	eventDrifted    = "Drifted"    // a node is to be replaced
	eventNotMade    = "NotMade"    // the machine of a node couldn't be made
	eventNotJoined  = "NotJoined"  // a machine of the class didn't become a node
	eventNotRemoved = "NotRemoved" // the machine of a node can't be removed yet
)

// teller emits events. The zero one emits none.
type teller struct{ recorder events.EventRecorder }

func (t teller) say(about runtime.Object, kind, reason, action, format string, args ...any) {
	if t.recorder == nil {
		return
	}
	t.recorder.Eventf(about, nil, kind, reason, action, format, args...)
}

// turned emits an event if an object has become ready, or isn't any more, or isn't for another reason than before.
func (t teller) turned(before, after status.Object, condition, good string) {
	was, is := before.StatusConditions().Get(condition), after.StatusConditions().Get(condition)
	switch {
	case is.IsTrue() && !was.IsTrue():
		t.say(after, corev1.EventTypeNormal, eventReady, "Reconcile", "%s", good)
	case is.IsFalse() && (!was.IsFalse() || was.Reason != is.Reason):
		kind := corev1.EventTypeWarning
		if is.Reason == eventNotReady { // it is being made
			kind = corev1.EventTypeNormal
		}
		t.say(after, kind, eventNotReady, "Reconcile", "%s", is.Message)
	}
}

// full emits an event if no zone has room.
func (t teller) full(class *api.ProxmoxNodeClass, err error) {
	if cloudprovider.IsInsufficientCapacityError(err) {
		t.say(class, corev1.EventTypeWarning, eventNoCapacity, "Create", "%v", err)
	}
}

// whyDrifted is what has changed, for people.
var whyDrifted = map[cloudprovider.DriftReason]string{
	NodeClassDrift: "its ProxmoxNodeClass says something else than when it was made",
	ImageDrift:     "the template has another image",
	TemplateDrift:  "the template has other hardware",
	ZoneDrift:      "its machine is on another Proxmox node than its labels say",
	MachineDrift:   "somebody has changed its machine in a way that only a restart undoes",
}

// drifted emits an event if a node is to be replaced and Karpenter doesn't know that yet.
func (t teller) drifted(claim *v1.NodeClaim, reason cloudprovider.DriftReason) {
	if reason != "" && !claim.StatusConditions().Get(v1.ConditionTypeDrifted).IsTrue() {
		t.say(claim, corev1.EventTypeNormal, eventDrifted, "Replace", "%s: %s", reason, whyDrifted[reason])
	}
}
