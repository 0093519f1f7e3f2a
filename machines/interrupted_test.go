package machines

import (
	"context"
	"errors"
	"strings"
	"testing"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// An error that ends each look at a Machine is in its condition and in an event, once, until it passes.
func TestAnErrorOfKubernetesIsSaidInTheMachine(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		l.add(machineOf("md-1"))
		works, quota := l.direct, true
		l.reconciler.direct = interceptor.NewClient(works.(client.WithWatch), interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if _, secret := o.(*corev1.Secret); secret && quota {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, o.GetName(), errors.New("exceeded quota: objects"))
				}
				return c.Create(ctx, o, opts...)
			},
		})
		key := types.NamespacedName{Namespace: "kube-system", Name: "md-1"}
		for range 3 {
			if _, err := l.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err == nil {
				t.Fatal("nothing is wrong")
			}
		}
		var m clusterv1alpha1.Machine
		if err := works.Get(t.Context(), key, &m); err != nil {
			t.Fatal(err)
		}
		if text := condition(&m); !strings.HasPrefix(text, "ReconcilingError: ") || !strings.Contains(text, "exceeded quota") || !inPhase(phasePending)(&m) {
			t.Errorf("it says %q: %+v", text, m.Status)
		}
		said := 0
		for len(l.said.Events) > 0 {
			if strings.Contains(<-l.said.Events, "exceeded quota") {
				said++
			}
		}
		if said != 1 {
			t.Errorf("%d events", said)
		}
		quota = false
		l.until("md-1", "it runs", inPhase(phaseJoining))
	})
}
