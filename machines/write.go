package machines

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/kube/drain"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

// write puts into the Machine what there is to say, and says it in an event if it is new.
func (t *turn) write(ctx context.Context) error {
	t.tell()
	if t.node != nil && drain.Ready(t.node) && !wasReady(t.before) {
		t.metrics.provisioning.Observe(t.now().Sub(t.m.CreationTimestamp.Time).Seconds())
	}
	if t.early() {
		return nil
	}
	if t.m.Status.NodeRef != nil && (t.before.Status.NodeRef == nil || t.before.Status.NodeRef.UID != t.m.Status.NodeRef.UID) {
		t.events.Eventf(t.m, t.node, corev1.EventTypeNormal, "NodeJoined", "Join", "the machine is node %s", t.m.Status.NodeRef.Name)
	}
	return t.store(ctx)
}

// interrupted says in the Machine which error has ended a look at it, and in an event as the original does. A guest that was up to date is still taken for that: the
// error says nothing about it.
func (t *turn) interrupted(ctx context.Context, err error) {
	text := kube.Note(oneLine(err))
	t.m, t.record = t.before.DeepCopy(), recordOf(t.before) // as it was written
	was := slices.IndexFunc(t.m.Status.Conditions, isInstance)
	if was >= 0 && t.m.Status.Conditions[was].Reason == reasonError && t.m.Status.Conditions[was].Message == text {
		return
	}
	t.events.Eventf(t.m, nil, corev1.EventTypeWarning, reasonError, "Reconcile", "%s", text)
	if was >= 0 && t.m.Status.Conditions[was].Status == corev1.ConditionTrue && t.m.DeletionTimestamp == nil {
		return
	}
	t.said = said{deleting: t.m.DeletionTimestamp != nil, drain: t.said.drain}
	t.said.waits(reasonError, text)
	phase := t.m.Status.Phase
	t.tell()
	if phase != nil && !t.said.deleting {
		t.m.Status.Phase = phase
	}
	if err := t.store(ctx); err != nil {
		t.log.Debug("write what has gone wrong", "machine", t.owner.Key, "error", err)
	}
}

// reasonError is the reason of a condition and an event about an error that ends a look at a Machine: that of the original.
const reasonError = "ReconcilingError"

// tell sets the Machine's status by what there is to say.
func (t *turn) tell() {
	if t.said.reason != "" {
		t.condition(corev1.NodeCondition{Type: conditionInstance, Status: truth(t.said.ready), Reason: t.said.reason, Message: strings.Join(append([]string{t.said.message}, t.said.notes...), "; ")})
		t.m.Status.ErrorReason, t.m.Status.ErrorMessage = nil, nil
		if t.said.err != "" {
			kind, text := t.said.err, t.said.message
			t.m.Status.ErrorReason, t.m.Status.ErrorMessage = &kind, &text
		}
		phase := t.phase()
		t.m.Status.Phase = &phase
	}
	if t.said.drain != nil {
		t.condition(*t.said.drain)
	}
	if !slices.EqualFunc(t.m.Status.Conditions, t.before.Status.Conditions, sameCondition) {
		now := metav1.NewTime(t.now())
		t.m.Status.LastUpdated = &now
	} else {
		t.m.Status.Conditions = t.before.Status.Conditions // but for times of heartbeats
	}
}

func wasReady(m *clusterv1alpha1.Machine) bool {
	return slices.ContainsFunc(m.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
}

// progressPause is how soon after the last report of progress the next one is written, if nothing else is new: a machine that is made takes many
// short steps.
const progressPause = 10 * time.Second

// nodePause is how long a guest that is up waits for its Node, which is written with it then.
const nodePause = 3 * time.Second

// early reports whether nothing is new but what is being done for a machine, that its guest is up, and that its Node is there and not ready yet, so soon after the last
// report that the next look writes it.
func (t *turn) early() bool {
	if t.said.err != "" || t.m.Status.LastUpdated == nil || t.before.Status.LastUpdated == nil {
		return false
	}
	is, was := slices.IndexFunc(t.m.Status.Conditions, isInstance), slices.IndexFunc(t.before.Status.Conditions, isInstance)
	if is < 0 || was < 0 || t.said.warn && t.m.Status.Conditions[is].Reason != t.before.Status.Conditions[was].Reason { // there is an event about it
		return false
	}
	quiet := t.m.DeepCopy()
	last, pause := t.before.Status.LastUpdated.Time, progressPause
	up := t.before.Status.NodeRef == nil && t.m.Status.Conditions[is].Status == corev1.ConditionTrue && t.before.Status.Conditions[was].Status != corev1.ConditionTrue
	switch first := t.fleet.isUp(t.owner, up, t.now()); {
	case up:
		last, quiet.Status.Addresses = first, t.before.Status.Addresses
		if t.node == nil {
			pause = nodePause
		}
	case t.m.Status.Conditions[is].Status != t.before.Status.Conditions[was].Status:
		return false
	}
	left := pause - t.now().Sub(last)
	if left <= 0 {
		return false
	}
	if t.node != nil && !drain.Ready(t.node) && t.before.Status.NodeRef == nil {
		quiet.Status.NodeRef, quiet.Status.Versions, quiet.Status.Conditions = nil, t.before.Status.Versions, own(quiet.Status.Conditions)
		is = slices.IndexFunc(quiet.Status.Conditions, isInstance)
	}
	quiet.Status.Conditions[is], quiet.Status.LastUpdated = t.before.Status.Conditions[was], t.before.Status.LastUpdated
	record, wrote := t.record, recordOf(t.before)
	if phase := quiet.Status.Phase; wrote.VMID == 0 && phase != nil && *phase == phaseProvisioning { // the claim writes that before anything is made
		record.VMID, record.Node, quiet.Status.Phase = 0, "", t.before.Status.Phase
	}
	record.into(quiet)
	b, err := client.MergeFrom(t.before).Data(quiet)
	if err != nil || string(b) != "{}" {
		return false
	}
	if t.again == 0 || t.again > left {
		t.again = left
	}
	return true
}

func isInstance(c corev1.NodeCondition) bool { return c.Type == conditionInstance }

// store writes the Machine, if something has changed.
func (t *turn) store(ctx context.Context) error {
	t.record.into(t.m)
	patch := client.MergeFrom(t.before)
	b, err := patch.Data(t.m)
	if err != nil || string(b) == "{}" {
		return err
	}
	if !slices.Equal(t.m.Finalizers, t.before.Finalizers) { // a list, which a patch replaces: not if somebody has written the Machine meanwhile
		patch = client.MergeFromWithOptions(t.before, client.MergeFromWithOptimisticLock{})
	}
	after := t.m.DeepCopy()
	if err := client.IgnoreNotFound(t.client.Patch(ctx, after, patch)); err != nil {
		return fmt.Errorf("write the Machine: %w", err)
	}
	t.m.ResourceVersion = after.ResourceVersion
	t.fleet.wrote(t.owner, after.ResourceVersion, t.now())
	t.before = t.m.DeepCopy()
	return nil
}

// briefly reports whether a machine that was up to date is changed while it runs, and not for long yet: each machine loses its first-boot data so, which isn't worth
// telling twice.
func (t *turn) briefly(o site.Outcome) bool {
	was := slices.IndexFunc(t.before.Status.Conditions, isInstance)
	is := o.State == model.StateChanging && o.Status == model.StatusRunning && was >= 0 && t.before.Status.Conditions[was].Status == corev1.ConditionTrue
	left := progressPause - t.now().Sub(t.fleet.changes(t.owner, is, t.now()))
	if !is || left <= 0 {
		return false
	}
	if t.again == 0 || t.again > left {
		t.again = left
	}
	return true
}

// written is which version a Machine has since it was written last.
type written struct {
	version string
	at      time.Time
}

// cacheLate is how late the cache may be about what was written.
const cacheLate = 10 * time.Second

// wrote notes which version a Machine has since it was written.
func (f *fleet) wrote(o model.Owner, version string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written[o] = written{version, now}
}

// stale reports whether a Machine in the cache is older than the last write. Reconciling it would write and report the same again.
func (f *fleet) stale(o model.Owner, version string, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, known := f.written[o]
	if !known || now.Sub(last.at) >= cacheLate {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, last.version)
	return err == nil && order < 0
}

// isUp notes whether a guest is up of which its Machine doesn't say so yet, and says since when.
func (f *fleet) isUp(o model.Owner, is bool, now time.Time) (since time.Time) {
	return noted(f, f.up, o, is, now)
}

// changes notes whether a machine is changed now that was up to date, and says since when.
func (f *fleet) changes(o model.Owner, is bool, now time.Time) (since time.Time) {
	return noted(f, f.changing, o, is, now)
}

// noted notes since when something is so of a machine.
func noted(f *fleet, all map[model.Owner]time.Time, o model.Owner, is bool, now time.Time) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !is {
		delete(all, o)
		return now
	}
	if _, known := all[o]; !known {
		all[o] = now
	}
	return all[o]
}
