package karpenter

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// secret reads a Secret of the lab.
func (l *lab) secret(name string) *corev1.Secret {
	l.t.Helper()
	var s corev1.Secret
	if err := l.client.Get(l.t.Context(), types.NamespacedName{Namespace: "kube-system", Name: name}, &s); err != nil {
		l.t.Fatal(err)
	}
	return &s
}

// A NodeClaim that can't be made as its class is declared goes at once: while it isn't launched, Karpenter does nothing for any NodePool. The class is tried
// again soon, since people correct it.
func TestWhatCantBeMadeAsDeclaredHoldsUpNothing(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		recorder := events.NewFakeRecorder(1000)
		l.events = teller{recorder}
		l.settle()
		boot := l.secret("boot") // the class is looked at again only later
		if err := l.client.Delete(t.Context(), boot); err != nil {
			t.Fatal(err)
		}
		const want = "there is no Secret boot in namespace kube-system"
		for range 3 {
			if _, err := l.Create(t.Context(), l.claim("node-"+time.Now().Format("150405"))); !cloudprovider.IsInsufficientCapacityError(err) || !strings.Contains(err.Error(), want) {
				t.Fatalf("got %v", err)
			}
			if l.offered("pve1")+l.offered("pve2") > 0 {
				t.Error("machines are promised that can't be made")
			}
			if len(l.reserved) > 0 {
				t.Errorf("what it would have taken is counted: %v", l.reserved)
			}
			time.Sleep(firstPause)
		}
		said := ""
		for len(recorder.Events) > 0 {
			said += <-recorder.Events + "\n"
		}
		if !strings.Contains(said, "Warning NoCapacity ") || !strings.Contains(said, want) {
			t.Errorf("it is said: %s", said)
		}
		if n := l.clones(); n != 0 {
			t.Errorf("%d machines were made", n)
		}
		boot.ResourceVersion = ""
		if err := l.client.Create(t.Context(), boot); err != nil {
			t.Fatal(err)
		}
		l.initialized(l.create(l.claim("node-late")))
	})
}

// Templates of first-boot data may name the interfaces that a ProxmoxTemplate has.
func TestFirstBootDataMayNameInterfaces(t *testing.T) {
	inLab(t, labWorld(), managed(t, page), func(t *testing.T, l *lab) {
		boot := l.secret("boot")
		boot.Data["user-data"] = []byte("#cloud-config\nhostname: {{ .Metadata.Hostname }}\nbootcmd: [\"ip link set {{ (index .Network.Interfaces 0).Name }} up\"]\n")
		if err := l.client.Update(t.Context(), boot); err != nil {
			t.Fatal(err)
		}
		l.settle()
		if ready := l.class().StatusConditions().Get("Ready"); !ready.IsTrue() {
			t.Fatalf("the class isn't ready: %s", ready.Message)
		}
		l.create(l.claim("node-1"))
	})
}
