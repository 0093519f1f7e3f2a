package machines

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8c.io/machine-controller/sdk/apis/cluster/common"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/kube/drain"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

// Conditions of a Machine beside those of its Node.
const (
	conditionInstance = "InstanceReady" // how the guest in Proxmox is
	conditionDrained  = "Drained"       // how far the Node is drained
)

// Phases of a Machine.
const (
	phasePending      = "Pending"      // nothing is made yet
	phaseProvisioning = "Provisioning" // the guest is being made
	phaseJoining      = "Joining"      // the guest runs, and isn't a ready node yet
	phaseRunning      = "Running"
	phaseDeleting     = "Deleting"
	phaseFailed       = "Failed" // somebody has to do something
)

// said is what there is to say about a Machine.
type said struct {
	put, deleting bool
	ready         bool
	reason        string
	message       string
	err           common.MachineStatusError // empty: none
	warn          bool                      // it may pass by itself, but perhaps somebody has to do something
	notes         []string
	drain         *corev1.NodeCondition
}

// failed says that somebody has to do something. What was said first counts.
func (s *said) failed(kind common.MachineStatusError, reason, message string) {
	if s.err == "" {
		s.err, s.ready, s.reason, s.message = kind, false, reason, message
	}
}

// waits says what is waited for.
func (s *said) waits(reason, message string) {
	if s.err == "" {
		s.ready, s.reason, s.message = false, reason, message
	}
}

// note says something beside the rest.
func (s *said) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// drained says how far the drain is.
func (s *said) drained(done bool, reason, message string) {
	is := corev1.ConditionFalse
	if done {
		is = corev1.ConditionTrue
	}
	s.drain = &corev1.NodeCondition{Type: conditionDrained, Status: is, Reason: reason, Message: message}
}

// judge says how the machine is, by what is known of it in Proxmox.
func (t *turn) judge(ctx context.Context) error {
	if t.said.err != "" || !t.said.put {
		return nil
	}
	o, known, trouble := t.fleet.outcome(t.berth, t.owner)
	if known {
		t.remember(o)
	}
	switch {
	case trouble != nil:
		t.again = loginAgain
		t.said.waits(string(trouble.Reason), words(trouble.Text, trouble.Do))
		t.said.warn = true
		if trouble.Reason == model.WaitLogin {
			t.said.failed(common.CreateMachineError, string(trouble.Reason), words(trouble.Text, trouble.Do))
		}
	case !known:
		t.unread()
	case o.State == model.StateReady:
		t.said.ready, t.said.reason, t.said.message = true, reasonUpToDate, upToDate(o)
	case blocked(o):
		t.said.failed(errorOf(o), string(reasonOf(o)), verdict(o))
	case t.briefly(o):
		t.said.ready, t.said.reason, t.said.message = true, reasonUpToDate, upToDate(o)
	default:
		t.said.waits(string(reasonOf(o)), verdict(o))
	}
	return t.joinInTime(ctx)
}

const reasonUpToDate = "UpToDate"

func upToDate(o site.Outcome) string { return fmt.Sprintf("VM %d runs on %s", o.VMID, o.Node) }

// unread says that nothing is known of the guest yet.
func (t *turn) unread() { t.said.waits("Unread", "Proxmox is being looked at") }

// remember takes over what is known of the guest.
func (t *turn) remember(o site.Outcome) {
	if o.State == model.StateReady {
		t.fleet.changes(t.owner, false, t.now())
		t.record.Cluster = cmp.Or(t.record.Cluster, t.berth.site.Identity())
	}
	if o.VMID != 0 {
		t.record.VMID = o.VMID
	}
	if o.Node != "" {
		t.record.Node = o.Node
	}
	if o.Status == model.StatusRunning && !t.record.Made {
		now := metav1.NewTime(t.now())
		t.record.Made, t.record.Started = true, &now
		t.events.Eventf(t.m, nil, corev1.EventTypeNormal, "Created", "Create", "VM %d was made on %s and runs", o.VMID, o.Node)
	}
	if o.Leased != nil {
		t.record.Addresses = nil
		for _, a := range o.Leased {
			t.record.Addresses = append(t.record.Addresses, a.String())
		}
	}
	if len(o.Addresses) > 0 {
		list := []corev1.NodeAddress{}
		for _, p := range o.Addresses {
			list = append(list, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: p.Addr().String()})
		}
		t.m.Status.Addresses = append(list, corev1.NodeAddress{Type: corev1.NodeHostName, Address: nodeName(t.m)})
	}
}

// joinInTime has a machine replaced that hasn't become a node for too long.
func (t *turn) joinInTime(ctx context.Context) error {
	if t.JoinTimeout == 0 || t.m.Status.NodeRef != nil || t.record.Started == nil {
		return nil
	}
	left := t.JoinTimeout - t.now().Sub(t.record.Started.Time)
	if left > 0 {
		if t.again == 0 || t.again > left {
			t.again = left
		}
		return nil
	}
	text := fmt.Sprintf("the machine didn't become a node within %s: see the log of its first boot (proxplane console, or /var/log/cloud-init-output.log in it)", t.JoinTimeout)
	if !t.inSet() {
		t.said.failed(common.JoinClusterTimeoutMachineError, "JoinTimeout", text)
		return nil
	}
	t.events.Eventf(t.m, nil, corev1.EventTypeWarning, "JoinClusterTimeout", "Replace", "%s; another machine takes its place", text)
	return client.IgnoreNotFound(t.client.Delete(ctx, t.m, client.Preconditions{UID: &t.m.UID}))
}

func (t *turn) phase() string {
	switch {
	case t.said.deleting:
		return phaseDeleting
	case t.said.err != "":
		return phaseFailed
	case t.node != nil && drain.Ready(t.node):
		return phaseRunning
	case t.record.Made:
		return phaseJoining
	case t.record.VMID != 0:
		return phaseProvisioning
	}
	return phasePending
}

// condition sets a condition, and emits an event if it is another one than before.
func (t *turn) condition(c corev1.NodeCondition) {
	c.LastTransitionTime = metav1.NewTime(t.now())
	at := slices.IndexFunc(t.m.Status.Conditions, func(have corev1.NodeCondition) bool { return have.Type == c.Type })
	var was corev1.NodeCondition
	if at < 0 {
		t.m.Status.Conditions = append(t.m.Status.Conditions, c)
	} else {
		was = t.m.Status.Conditions[at]
		if was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
		}
		t.m.Status.Conditions[at] = c
	}
	kind := corev1.EventTypeNormal
	if (t.said.err != "" || t.said.warn) && c.Type == conditionInstance {
		kind = corev1.EventTypeWarning
	}
	turned := was.Status != c.Status && (c.Status == corev1.ConditionTrue || was.Status != "") // what is waited for meanwhile is in the condition
	if c.Type == conditionInstance && c.Status == corev1.ConditionTrue && t.before.Status.NodeRef == nil && t.before.Status.ErrorReason == nil {
		turned = false // that the guest runs for the first time is said by the event Created
	}
	if turned || was.Reason != c.Reason && c.Type == conditionDrained || kind == corev1.EventTypeWarning && (was.Reason != c.Reason || t.said.err != "" && was.Message != c.Message) {
		t.events.Eventf(t.m, nil, kind, c.Reason, "Reconcile", "%s", c.Message)
	}
}

func sameCondition(a, b corev1.NodeCondition) bool {
	a.LastHeartbeatTime, b.LastHeartbeatTime = metav1.Time{}, metav1.Time{}
	a.LastTransitionTime, b.LastTransitionTime = metav1.NewTime(a.LastTransitionTime.Truncate(time.Second)), metav1.NewTime(b.LastTransitionTime.Truncate(time.Second))
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message && a.LastTransitionTime.Equal(&b.LastTransitionTime)
}

func truth(is bool) corev1.ConditionStatus {
	if is {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}
