package machines

import (
	"context"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// labelSelector is the field of a MachineDeployment's status that its scale subresource takes the selector from. A HorizontalPodAutoscaler
// refuses an object without one. machine-controller's types lack the field, so that its controller would drop it with each status.
const labelSelector = "labelSelector"

// scalable is a manager for machine-controller's controllers. Its client keeps the selector and the conditions in the status of MachineDeployments, and makes no
// Machine of a MachineSet that is being deleted. Its controllers start when no machine-controller runs.
type scalable struct {
	manager.Manager
	parents *parents
	rival   *rival
}

// Add adds a controller.
func (m scalable) Add(one manager.Runnable) error { return m.Manager.Add(held{one, m.rival}) }

// GetClient gives that client.
func (m scalable) GetClient() client.Client {
	return selecting{m.Manager.GetClient(), m.Manager.GetCache(), m.parents}
}

type selecting struct {
	client.Client
	cache   client.Reader
	parents *parents
}

// Create creates an object.
func (c selecting) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if m, ok := o.(*clusterv1alpha1.Machine); ok {
		if err := c.parents.wants(ctx, m); err != nil {
			return err
		}
		born(m, time.Now())
	}
	return c.Client.Create(ctx, o, opts...)
}

// Status gives what writes statuses.
func (c selecting) Status() client.SubResourceWriter {
	return selectingStatus{c.Client.Status(), c.cache}
}

type selectingStatus struct {
	client.SubResourceWriter
	cache client.Reader
}

// Update writes the status of an object, that of a MachineDeployment with its selector and its conditions.
func (w selectingStatus) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	d, ok := o.(*clusterv1alpha1.MachineDeployment)
	if !ok {
		return w.SubResourceWriter.Update(ctx, o, opts...)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	if err != nil {
		return err
	}
	whole := &unstructured.Unstructured{Object: fields}
	whole.SetGroupVersionKind(deploymentKind)
	if err := unstructured.SetNestedField(whole.Object, selectorOf(d), "status", labelSelector); err != nil {
		return err
	}
	is := aDeployment()
	if err := w.cache.Get(ctx, client.ObjectKeyFromObject(d), is); err != nil {
		return err
	}
	if list, there, err := unstructured.NestedSlice(is.Object, "status", conditions); err == nil && there {
		if err := unstructured.SetNestedSlice(whole.Object, list, "status", conditions); err != nil {
			return err
		}
	}
	if err := w.SubResourceWriter.Update(ctx, whole, opts...); err != nil {
		return err
	}
	d.ResourceVersion = whole.GetResourceVersion()
	return nil
}

// selectorOf is the selector of a MachineDeployment as text; empty: it selects nothing in particular, or is wrong.
func selectorOf(d *clusterv1alpha1.MachineDeployment) string {
	selector, err := metav1.LabelSelectorAsSelector(&d.Spec.Selector)
	if err != nil {
		return "" // the controller of MachineDeployments says so
	}
	return selector.String()
}

var deploymentKind = clusterv1alpha1.SchemeGroupVersion.WithKind("MachineDeployment")

// aDeployment is an empty MachineDeployment with all fields that there are, not only those of machine-controller's types.
func aDeployment() *unstructured.Unstructured {
	d := &unstructured.Unstructured{}
	d.SetGroupVersionKind(deploymentKind)
	return d
}
