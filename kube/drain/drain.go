// Package drain empties a Node before its machine is removed: it cordons the Node and evicts its
// Pods, as their disruption budgets allow. It never waits: call [Drainer.Run] again until no Pod is
// left.
package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SkipAnnotation marks Nodes that aren't drained.
const SkipAnnotation = "kubermatic.io/skip-eviction"

// Drainer empties Nodes.
type Drainer struct {
	Client client.Client
	Pods   client.Reader // reads Pods by the name of their Node, past caches
}

// State is the progress of a drain.
type State struct {
	Left    int      // remaining Pods
	Blocked []string // why Pods can't be evicted now
}

// Done reports whether no Pod is left.
func (s State) Done() bool { return s.Left == 0 }

func (s State) String() string {
	text := fmt.Sprintf("%d Pods are left", s.Left)
	if s.Left == 1 {
		text = "1 Pod is left"
	}
	if len(s.Blocked) > 0 {
		text += ": " + strings.Join(s.Blocked[:min(len(s.Blocked), shown)], "; ")
	}
	if more := len(s.Blocked) - shown; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// shown is how many Pods are named in a sentence.
const shown = 3

// Skip returns why a Node isn't drained; empty: it is drained. deleted is the time when its machine was deleted, after
// the timeout of a drain, and others are the other Nodes; joining says that more will join.
func Skip(node *corev1.Node, deleted, now time.Time, after time.Duration, others []corev1.Node, joining bool) string {
	switch {
	case node == nil:
		return "it has no Node"
	case now.Sub(deleted) > after:
		return fmt.Sprintf("it was deleted more than %s ago", after)
	case !Ready(node):
		return "its Node isn't ready, so that no Pod of it would end"
	}
	if _, said := node.Annotations[SkipAnnotation]; said {
		return "its Node has the annotation " + SkipAnnotation
	}
	target := slices.ContainsFunc(others, func(n corev1.Node) bool { return n.Name != node.Name && !n.Spec.Unschedulable })
	if !target && !joining {
		return "there is no other Node that takes Pods"
	}
	return ""
}

// Ready reports whether a Node is ready.
func Ready(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ReadySince returns since when a Node is ready; zero: it isn't, or that isn't known.
func ReadySince(node *corev1.Node) time.Time {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// Run cordons a Node and requests the eviction of its Pods.
func (d *Drainer) Run(ctx context.Context, node *corev1.Node) (State, error) {
	if !node.Spec.Unschedulable {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`))
		if err := d.Client.Patch(ctx, node.DeepCopy(), patch); err != nil {
			return State{}, fmt.Errorf("cordon node %s: %w", node.Name, err)
		}
	}
	var pods corev1.PodList
	if err := d.Pods.List(ctx, &pods, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("spec.nodeName", node.Name)}); err != nil {
		return State{}, fmt.Errorf("list the Pods of node %s: %w", node.Name, err)
	}
	var s State
	var failed []error
	for i := range pods.Items {
		p := &pods.Items[i]
		if !counts(p) {
			continue
		}
		s.Left++
		if p.DeletionTimestamp != nil {
			continue // it ends
		}
		why, err := d.evict(ctx, p)
		if err != nil {
			failed = append(failed, err)
		} else if why != "" {
			s.Blocked = append(s.Blocked, why)
		}
	}
	return s, errors.Join(failed...)
}

// counts reports whether a Pod has to go before its Node does.
func counts(p *corev1.Pod) bool {
	_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
	of := metav1.GetControllerOf(p)
	return !mirror && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed && (of == nil || of.Kind != "DaemonSet")
}

// evict asks for the eviction of a Pod. It says why it can't be evicted now; empty: it is, or is gone.
func (d *Drainer) evict(ctx context.Context, p *corev1.Pod) (why string, err error) {
	uid := p.UID
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}, DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}}
	err = d.Client.SubResource("eviction").Create(ctx, p, eviction)
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return "", nil
	case refused(err): // by a disruption budget, or by a policy or a webhook of the cluster
		return fmt.Sprintf("Pod %s/%s: %s", p.Namespace, p.Name, budget(err)), nil
	}
	return "", fmt.Errorf("evict Pod %s/%s: %w", p.Namespace, p.Name, err)
}

// refused reports whether the API server has answered with an error.
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// budget says which disruption budget is in the way.
func budget(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			if c.Type == policyv1.DisruptionBudgetCause {
				return strings.TrimSuffix(c.Message, ".")
			}
		}
	}
	return strings.TrimSuffix(err.Error(), ".")
}
