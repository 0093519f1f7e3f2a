package kube_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/proxplane/proxplane/kube"
)

func TestManyWhoReadTheSameAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fake.NewClientBuilder().WithScheme(kube.Scheme()).Build()
		b := &kube.Brief{Reader: c, Age: time.Second}
		key := client.ObjectKey{Namespace: "kube-public", Name: "cluster-info"}
		var m corev1.ConfigMap
		if err := b.Get(t.Context(), key, &m); !apierrors.IsNotFound(err) {
			t.Fatalf("before there is one: %v", err)
		}
		if err := c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: map[string]string{"is": "one"}}); err != nil {
			t.Fatal(err)
		}
		if err := b.Get(t.Context(), key, &m); !apierrors.IsNotFound(err) {
			t.Errorf("it was read again at once: %v", err)
		}
		var s corev1.Secret
		if err := b.Get(t.Context(), key, &s); !apierrors.IsNotFound(err) {
			t.Errorf("a Secret of that name: %v", err)
		}
		time.Sleep(time.Second)
		for range 2 {
			if err := b.Get(t.Context(), key, &m); err != nil || m.Data["is"] != "one" {
				t.Errorf("it is %v, %v", m.Data, err)
			}
			m.Data["is"] = "changed" // by a caller, which is its own
		}
	})
}
