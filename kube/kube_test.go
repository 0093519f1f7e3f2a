package kube_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/kube"
)

// A released object says nothing any more: it isn't wanted, and it isn't to go.
func TestReleasedObjectsAreLeftOut(t *testing.T) {
	vm := func(name string, deleting bool, force string) kube.Object {
		o := &api.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "lab"}}
		if deleting {
			o.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
		}
		if force != "" {
			o.Annotations = map[string]string{api.ForceDelete: force}
		}
		return o
	}
	set, err := kube.Set([]kube.Object{vm("kept", false, "true"), vm("going", true, ""), vm("no", true, "false"), vm("released", true, "true")})
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, key := range set.Keys() {
		names += key.Name + " "
	}
	if names != "kept going no " {
		t.Errorf("there is %s", names)
	}
}

// After an outage nobody waits for long until what failed is tried again, however long it has been.
func TestWhatHasFailedForLongIsTriedAgainSoon(t *testing.T) {
	const soon = 15 * time.Second
	retries, one := kube.Retries(), reconcile.Request{}
	for range 40 {
		if pause := retries.When(one); pause <= 0 || pause > soon {
			t.Fatalf("after %d failures it is tried again in %v", retries.NumRequeues(one), pause)
		}
	}
	retries.Forget(one)
	if pause := retries.When(one); pause > time.Second {
		t.Errorf("after a success it is tried again in %v", pause)
	}
}
