package machines

import (
	"context"
	"encoding/json"
	"fmt"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// labelSelector is the field of a MachineDeployment's status that its scale subresource takes the selector from. A HorizontalPodAutoscaler
// refuses an object without one. machine-controller's types lack the field, so that its controller would drop it with each status.
const labelSelector = "labelSelector"

// scalable is a manager whose client keeps the selector in the status of MachineDeployments.
type scalable struct{ manager.Manager }

// GetClient gives that client.
func (m scalable) GetClient() client.Client { return selecting{m.Manager.GetClient()} }

type selecting struct{ client.Client }

// Status gives what writes statuses.
func (c selecting) Status() client.SubResourceWriter { return selectingStatus{c.Client.Status()} }

type selectingStatus struct{ client.SubResourceWriter }

// Update writes the status of an object, that of a MachineDeployment with its selector.
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

// selectors gives those MachineDeployments a selector in their status that have none or another one: somebody else wrote their status last.
type selectors struct{ client client.Client }

// watchSelectors adds that controller to a manager.
func watchSelectors(mgr manager.Manager) error {
	skip := true
	one, err := controller.New("machinedeployment-selectors", mgr, controller.Options{Reconciler: &selectors{mgr.GetClient()}, SkipNameValidation: &skip})
	if err != nil {
		return err
	}
	return one.Watch(source.Kind[client.Object](mgr.GetCache(), aDeployment(), &handler.EnqueueRequestForObject{}))
}

// aDeployment is an empty MachineDeployment with all fields that there are, not only those of machine-controller's types.
func aDeployment() *unstructured.Unstructured {
	d := &unstructured.Unstructured{}
	d.SetGroupVersionKind(deploymentKind)
	return d
}

// Reconcile looks at one MachineDeployment.
func (s *selectors) Reconcile(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
	whole := aDeployment()
	if err := s.client.Get(ctx, q.NamespacedName, whole); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var d clusterv1alpha1.MachineDeployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(whole.Object, &d); err != nil {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("read MachineDeployment %s: %w", q.NamespacedName, err))
	}
	want := selectorOf(&d)
	if is, _, _ := unstructured.NestedString(whole.Object, "status", labelSelector); is == want || d.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": d.UID}, "status": map[string]any{labelSelector: want}})
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, client.IgnoreNotFound(s.client.Status().Patch(ctx, whole, client.RawPatch(types.MergePatchType, patch)))
}
