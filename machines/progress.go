package machines

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/proxplane/proxplane/kube"
)

// conditions is the field of a MachineDeployment's status with its conditions, which machine-controller's types lack. There is one, Progressing, as a Deployment
// has it: machine-controller takes progressDeadlineSeconds, and does nothing about it.
const (
	conditions           = "conditions"
	conditionProgressing = "Progressing"

	reasonProgressing = "Progressing"
	reasonAvailable   = "MachinesAvailable"
	reasonPaused      = "Paused"
	reasonInvalid     = "InvalidSelector"
	reasonExceeded    = "ProgressDeadlineExceeded"
)

// defaultDeadline is as in the original.
const defaultDeadline = 600 * time.Second

// progress writes into the status of MachineDeployments what machine-controller's controller doesn't: the selector for autoscalers, and whether a rollout goes on.
type progress struct {
	client client.Client
	cache  client.Reader // also of fields that types lack
	events events.EventRecorder
	now    func() time.Time

	mu   sync.Mutex
	last map[types.UID]seenProgress
}

// seenProgress is how far a rollout was when it last changed.
type seenProgress struct {
	state string
	since time.Time
}

// watchProgress adds that controller to a manager.
func watchProgress(mgr manager.Manager, events events.EventRecorder) error {
	p := &progress{client: mgr.GetClient(), cache: mgr.GetCache(), events: events, now: time.Now, last: map[types.UID]seenProgress{}}
	one, err := kube.NewController("machinedeployment-progress", mgr, p, 1)
	if err != nil {
		return err
	}
	return one.Watch(source.Kind[client.Object](mgr.GetCache(), aDeployment(), &handler.EnqueueRequestForObject{}))
}

// Reconcile updates the status of one MachineDeployment.
func (p *progress) Reconcile(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
	whole := aDeployment()
	if err := p.cache.Get(ctx, q.NamespacedName, whole); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var d clusterv1alpha1.MachineDeployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(whole.Object, &d); err != nil {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("read MachineDeployment %s: %w", q.NamespacedName, err))
	}
	if d.DeletionTimestamp != nil {
		p.forget(d.UID)
		return reconcile.Result{}, nil
	}
	status := map[string]any{}
	if is, _, _ := unstructured.NestedString(whole.Object, "status", labelSelector); is != selectorOf(&d) {
		status[labelSelector] = selectorOf(&d)
	}
	was := progressing(whole)
	is, left, err := p.judge(ctx, &d)
	if err != nil {
		return reconcile.Result{}, err
	}
	if is.Status != was.Status || is.Reason != was.Reason || is.Message != was.Message {
		is.LastTransitionTime = metav1.NewTime(p.now())
		if is.Status == was.Status {
			is.LastTransitionTime = was.LastTransitionTime
		}
		status[conditions] = []metav1.Condition{is}
	}
	if len(status) == 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": d.UID}, "status": status})
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := p.client.Status().Patch(ctx, whole, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if is.Status == metav1.ConditionFalse && is.Reason != was.Reason {
		p.events.Eventf(&d, nil, corev1.EventTypeWarning, is.Reason, "Progress", "%s", is.Message)
	}
	return reconcile.Result{RequeueAfter: left}, nil
}

// progressing is the condition that a MachineDeployment has; empty: it has none.
func progressing(whole *unstructured.Unstructured) (c metav1.Condition) {
	list, _, err := unstructured.NestedSlice(whole.Object, "status", conditions)
	if err != nil {
		return c
	}
	for _, one := range list {
		fields, ok := one.(map[string]any)
		if ok && fields["type"] == conditionProgressing && runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c) == nil {
			return c
		}
	}
	return metav1.Condition{}
}

// judge says how far a rollout is, and after which time it is looked at again.
func (p *progress) judge(ctx context.Context, d *clusterv1alpha1.MachineDeployment) (metav1.Condition, time.Duration, error) {
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	is := func(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Type: conditionProgressing, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...), ObservedGeneration: d.Generation}
	}
	s := d.Status
	switch why := wrongSelector(d); {
	case why != "":
		p.forget(d.UID)
		return is(metav1.ConditionFalse, reasonInvalid, "nothing is done: %s", why), 0, nil
	case d.Spec.Paused:
		p.forget(d.UID)
		return is(metav1.ConditionUnknown, reasonPaused, "the MachineDeployment is paused"), 0, nil
	case s.ObservedGeneration >= d.Generation && s.Replicas == wanted && s.UpdatedReplicas == wanted && s.AvailableReplicas == wanted:
		p.forget(d.UID)
		return is(metav1.ConditionTrue, reasonAvailable, "all machines are as wanted, and available"), 0, nil
	}
	deadline := defaultDeadline
	if d.Spec.ProgressDeadlineSeconds != nil {
		deadline = time.Duration(*d.Spec.ProgressDeadlineSeconds) * time.Second
	}
	since := p.seen(d.UID, fmt.Sprint(d.Generation, s.ObservedGeneration, s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas))
	left := deadline - p.now().Sub(since)
	if left > 0 || deadline == 0 {
		return is(metav1.ConditionTrue, reasonProgressing, "machines are made or replaced"), max(0, left), nil
	}
	why, err := p.why(ctx, d)
	if err != nil {
		return metav1.Condition{}, 0, err
	}
	return is(metav1.ConditionFalse, reasonExceeded, "nothing has changed for %s: %d of %d machines are updated, %d available%s", deadline, s.UpdatedReplicas, wanted, s.AvailableReplicas, why), 0, nil
}

// wrongSelector says why a MachineDeployment can select no machines of its own; empty: it can. Our definition of the kind refuses that, and machine-controller's webhook does; its
// definition alone doesn't.
func wrongSelector(d *clusterv1alpha1.MachineDeployment) string {
	selector, err := metav1.LabelSelectorAsSelector(&d.Spec.Selector)
	switch {
	case err != nil:
		return "spec.selector: " + err.Error()
	case selector.Empty():
		return "spec.selector is empty: give it labels of spec.template.metadata.labels"
	case !selector.Matches(labels.Set(d.Spec.Template.Labels)):
		return fmt.Sprintf("spec.selector (%s) doesn't match spec.template.metadata.labels (%s): give the template the same labels", selector, labels.Set(d.Spec.Template.Labels))
	}
	return ""
}

// why is what the first of its machines says that isn't as it should be.
func (p *progress) why(ctx context.Context, d *clusterv1alpha1.MachineDeployment) (string, error) {
	selector, err := metav1.LabelSelectorAsSelector(&d.Spec.Selector)
	if err != nil {
		return "", err
	}
	var list clusterv1alpha1.MachineList
	if err := p.client.List(ctx, &list, client.InNamespace(d.Namespace), client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy); err != nil {
		return "", err
	}
	for i := range list.Items {
		m := &list.Items[i]
		if at := slices.IndexFunc(m.Status.Conditions, isInstance); m.Status.NodeRef == nil && at >= 0 {
			return fmt.Sprintf("; Machine %s: %s", m.Name, m.Status.Conditions[at].Message), nil
		}
	}
	return "", nil
}

// seen is since when a rollout is as far as it is.
func (p *progress) seen(of types.UID, state string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was, known := p.last[of]; known && was.state == state {
		return was.since
	}
	p.last[of] = seenProgress{state, p.now()}
	return p.last[of].since
}

func (p *progress) forget(of types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, of)
}
