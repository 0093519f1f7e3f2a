package machines

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"k8c.io/machine-controller/sdk/apis/cluster/common"
	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/proxplane/proxplane/kube/drain"
	"github.com/proxplane/proxplane/kube/join"
)

// nodeName is the name of a Machine's Node.
func nodeName(m *clusterv1alpha1.Machine) string {
	if m.Spec.Name != "" {
		return m.Spec.Name
	}
	return m.Name
}

// match finds the Node of the machine, and has it be as the Machine says.
func (t *turn) match(ctx context.Context) error {
	var node corev1.Node
	err := t.client.Get(ctx, types.NamespacedName{Name: nodeName(t.m)}, &node)
	switch {
	case apierrors.IsNotFound(err), err == nil && !t.isNode(&node):
		t.m.Status.NodeRef, t.m.Status.Conditions = nil, own(t.m.Status.Conditions)
		return nil
	case err != nil:
		return err
	}
	t.node = node.DeepCopy()
	if t.m.Status.NodeRef == nil || t.m.Status.NodeRef.UID != node.UID {
		t.m.Status.NodeRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
	}
	t.m.Status.Conditions = append(own(t.m.Status.Conditions), node.Status.Conditions...)
	if v := node.Status.NodeInfo.KubeletVersion; v != "" {
		t.m.Status.Versions = &clusterv1alpha1.MachineVersionInfo{Kubelet: strings.TrimPrefix(v, "v")}
	}
	return t.adorn(ctx)
}

// isNode reports whether a Node of the right name is that of this machine, and not of an earlier one.
func (t *turn) isNode(n *corev1.Node) bool {
	id, by := fmt.Sprintf(providerIDFormat, t.m.UID), n.Labels[ownerLabel]
	switch {
	case by != "":
		return by == string(t.m.UID)
	case strings.EqualFold(n.Spec.ProviderID, id):
		return true
	case strings.HasPrefix(n.Spec.ProviderID, "kubermatic://"):
		return false
	}
	return !n.CreationTimestamp.Before(&t.m.CreationTimestamp)
}

// adorn gives the Node what the Machine says: labels, annotations and taints are added, and never taken away. A label or an annotation that the Node has keeps its
// value, as with the original: somebody has changed it.
func (t *turn) adorn(ctx context.Context) error {
	n := t.node.DeepCopy()
	n.Labels, n.Annotations = with(n.Labels, t.m.Spec.Labels), with(n.Annotations, t.m.Spec.Annotations)
	if t.value != nil { // machine-controller's webhook gives Machines this one, and what runs on nodes of one system only goes by it
		common.SetOSLabel(n, t.value.OperatingSystem)
	}
	n.Labels[ownerLabel], n.Annotations[machineAnnotation] = string(t.m.UID), t.m.Namespace+"/"+t.m.Name
	for _, taint := range t.m.Spec.Taints {
		if !slices.ContainsFunc(n.Spec.Taints, func(have corev1.Taint) bool { return have.MatchTaint(&taint) }) {
			n.Spec.Taints = append(n.Spec.Taints, taint)
		}
	}
	if n.Spec.ProviderID == "" {
		n.Spec.ProviderID = fmt.Sprintf(providerIDFormat, t.m.UID)
	}
	if reflect.DeepEqual(n.ObjectMeta, t.node.ObjectMeta) && reflect.DeepEqual(n.Spec, t.node.Spec) {
		return nil
	}
	patch := client.MergeFrom(t.node)
	if len(n.Spec.Taints) != len(t.node.Spec.Taints) { // a list, which a patch replaces: not if somebody has changed it meanwhile
		patch = client.MergeFromWithOptions(t.node, client.MergeFromWithOptimisticLock{})
	}
	err := t.client.Patch(ctx, n, patch)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		t.again = 1
		return nil
	}
	if err == nil {
		t.node = n
	}
	return err
}

// with are labels or annotations with others that aren't there yet.
func with(have, more map[string]string) map[string]string {
	all := maps.Clone(more)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, have)
	return all
}

// own are the conditions that aren't a Node's.
func own(list []corev1.NodeCondition) []corev1.NodeCondition {
	var out []corev1.NodeCondition
	for _, c := range list {
		if c.Type == conditionInstance || c.Type == conditionDrained {
			out = append(out, c)
		}
	}
	return out
}

// ofNode finds the Machine of a Node.
func (r *reconciler) ofNode(ctx context.Context, o client.Object) []reconcile.Request {
	if ns, name, ok := strings.Cut(o.GetAnnotations()[machineAnnotation], "/"); ok {
		if len(r.Namespaces) > 0 && !slices.Contains(r.Namespaces, ns) {
			return nil // others look after it
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: ns, Name: name}}}
	}
	m, err := r.byNode(ctx, o.GetName())
	if err != nil || m == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(m)}}
}

// byNode is the Machine whose Node has a name; nil: there is none. It is the cache's: nobody may change it.
func (r *reconciler) byNode(ctx context.Context, name string) (*clusterv1alpha1.Machine, error) {
	var list clusterv1alpha1.MachineList
	if err := r.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if m := &list.Items[i]; nodeName(m) == name && ours(m) {
			return m, nil
		}
	}
	return nil, nil
}

// nodeChanged lets those changes of Nodes through that matter.
type nodeChanged struct{ predicate.Funcs }

// Update reports whether a change of a Node matters to its Machine.
func (nodeChanged) Update(e event.UpdateEvent) bool {
	was, ok := e.ObjectOld.(*corev1.Node)
	is, also := e.ObjectNew.(*corev1.Node)
	return !ok || !also || drain.Ready(was) != drain.Ready(is) || !reflect.DeepEqual(was.Spec, is.Spec) || !maps.Equal(was.Labels, is.Labels) || !maps.Equal(was.Annotations, is.Annotations)
}

// joining tells package join of our machines.
type joining struct{ *reconciler }

// ByNode finds a machine by the name of its Node.
func (j *joining) ByNode(ctx context.Context, node string) (*join.Machine, error) {
	m, err := j.byNode(ctx, node)
	if err != nil || m == nil {
		return nil, err
	}
	one := joinsAs(m)
	one.Addresses = append(one.Addresses, j.fleet.addresses(j.owner(m))...) // which may not be written yet
	return &one, nil
}

// Exists reports whether there is a machine with an ID.
func (j *joining) Exists(ctx context.Context, id string) (bool, error) {
	var list clusterv1alpha1.MachineList
	if err := j.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.Items, func(m clusterv1alpha1.Machine) bool { return string(m.UID) == id }), nil
}

func joinsAs(m *clusterv1alpha1.Machine) join.Machine {
	out := join.Machine{ID: string(m.UID), Node: nodeName(m)}
	for _, a := range m.Status.Addresses {
		if addr, err := netip.ParseAddr(a.Address); err == nil {
			out.Addresses = append(out.Addresses, addr)
		}
	}
	return out
}
