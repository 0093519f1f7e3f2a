package operator

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// People and alerts go by these, so they stay while nothing is new.
func TestAVerdictStaysWhileWhatFailsIsTriedAgain(t *testing.T) {
	fails := &model.Failure{What: "start VM 104", Text: "the moon is full", Hard: true}
	for _, c := range []struct {
		outcome engine.Outcome
		reason  model.Reason
		because string
	}{
		{engine.Outcome{State: engine.StateFailed, Text: "start VM 104 failed: the moon is full", Failure: fails}, model.WaitFailed, "it has failed"},
		{engine.Outcome{State: engine.StateChanging, Text: "start VM 104", Failure: fails, Repeats: true}, model.WaitFailed, "the same is tried again"},
		{engine.Outcome{State: engine.StateChanging, Text: "configure VM 104", Failure: fails}, model.ReasonChanging, "something else is done"},
		{engine.Outcome{State: engine.StateChanging, Text: "start VM 104"}, model.ReasonChanging, "nothing has failed"},
	} {
		got := status.Kubernetes.Outcome(c.outcome)
		if got.Reason != c.reason {
			t.Errorf("the reason is %s, want %s: %s", got.Reason, c.reason, c.because)
		}
		if c.reason == model.WaitFailed && got.Message != "start VM 104 failed: the moon is full" {
			t.Errorf("it says %q: %s", got.Message, c.because)
		}
	}
}

// What was made is in an object's status; a backup has none of it.
func TestARestoredObjectMayHaveAMachine(t *testing.T) {
	anew := metav1.ObjectMeta{UID: "2"}
	restored := metav1.ObjectMeta{UID: "2", Annotations: map[string]string{api.Identity: "1"}}
	first := metav1.ObjectMeta{UID: "1", Annotations: map[string]string{api.Identity: "1"}}
	fetched := api.VMImageSpec{URL: "https://images.example.org/debian.qcow2"}
	for _, c := range []struct {
		object  object
		never   bool
		because string
	}{
		{&api.VirtualMachine{ObjectMeta: anew}, true, "nobody has seen it yet"},
		{&api.VirtualMachine{ObjectMeta: first}, true, "no VMID was ever written down"},
		{&api.VirtualMachine{ObjectMeta: first, Status: api.MachineStatus{VMID: 100}}, false, "it has a VMID"},
		{&api.VirtualMachine{ObjectMeta: restored}, false, "the object that it was may have had one"},
		{&api.VMClone{ObjectMeta: first}, true, "no VMID was ever written down"},
		{&api.VMClone{ObjectMeta: restored}, false, "the object that it was may have had one"},
		{&api.VMImage{ObjectMeta: restored}, false, "its templates may have been copied to other nodes"},
		{&api.VMImage{ObjectMeta: restored, Spec: api.VMImageSpec{ISO: "local:iso/a.iso"}}, true, "ISO images that somebody else made aren't ours"},
		{&api.VMImage{ObjectMeta: first, Spec: fetched}, true, "no Provider was ever written down"},
		{&api.VMImage{ObjectMeta: restored, Spec: fetched}, false, "the object that it was may have been fetched"},
	} {
		if got := neverMade(c.object); got != c.never {
			t.Errorf("%T never made: %t, want %t: %s", c.object, got, c.never, c.because)
		}
	}
}

// After trouble with Proxmox an object is what was seen last until it is told again.
func TestWhatWasToldBeforeTroubleIsInDoubt(t *testing.T) {
	l := newLedger()
	key := model.Key{Kind: "VirtualMachine", Namespace: "lab", Name: "web"}
	provider := model.Key{Kind: "Provider", Namespace: "lab", Name: "pve"}
	l.translated("lab", map[model.Key]found{key: {uid: "1", identity: "1", providers: []model.Key{provider}}})
	now := engine.Outcome{Owner: model.Owner{Key: key, UID: "1"}, State: engine.StateReady}
	doubt := func() model.Reason {
		e, ok := l.of(key, "1", false)
		if !ok {
			t.Fatal("nothing is known of it")
		}
		if w := e.doubt(); w != nil {
			return w.Reason
		}
		return ""
	}
	if got := doubt(); got != "" {
		t.Errorf("before it is told: %q", got)
	}
	l.record(provider, now)
	if got := doubt(); got != "" {
		t.Errorf("after it is told: %q", got)
	}
	l.doubt(provider, plan.Wait{Reason: model.WaitAway})
	if got := doubt(); got != model.WaitAway {
		t.Errorf("since Proxmox is away: %q", got)
	}
	l.record(provider, now)
	if got := doubt(); got != model.WaitAway {
		t.Errorf("after it is told what was seen before, since its object was edited: %q", got)
	}
	l.trust(provider)
	if got := doubt(); got != model.WaitAway {
		t.Errorf("before it is told what is seen since: %q", got)
	}
	l.record(provider, now)
	if got := doubt(); got != "" {
		t.Errorf("after it is told again: %q", got)
	}
}

// That no machine needs an image isn't said beside a number of machines that name it.
func TestAnImageIsUnusedOnlyWithoutMachines(t *testing.T) {
	for machines := range 4 {
		e := entry{found: found{uid: "1", machines: machines}}
		v, ok := e.verdict("VMImage")
		image := &api.VMImage{}
		e.fill(image)
		if said := v.Message == "no machine needs it"; !ok || image.Status.Machines != machines || said != (machines == 0) {
			t.Errorf("%d machines: %q beside machines: %d", machines, v.Message, image.Status.Machines)
		}
	}
}

// Sessions say nothing new of what hasn't changed, so they have to know an object that was
// made anew from the one before it, though both are the same in Proxmox.
func TestAnObjectThatWasMadeAnewIsAnotherEdition(t *testing.T) {
	vm := func(uid string, generation int64) *api.VirtualMachine {
		return &api.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: types.UID(uid), Generation: generation, Annotations: map[string]string{api.Identity: "1"}}}
	}
	was := foundOf(vm("1", 1))
	for _, c := range []struct {
		now    *api.VirtualMachine
		same   bool
		reason string
	}{
		{vm("1", 1), true, "nothing has happened"},
		{vm("1", 2), false, "it was changed"},
		{vm("2", 1), false, "it comes from a backup"},
	} {
		now := foundOf(c.now)
		now.early = false
		if same := now.edition == was.edition; same != c.same || now.identity != was.identity {
			t.Errorf("the same edition: %t, identity %q: %s", same, now.identity, c.reason)
		}
		e := entry{found: now, outcomes: map[teller]engine.Outcome{{}: {State: engine.StateReady, Version: was.edition}}}
		if _, told := e.verdict("VirtualMachine"); told != c.same {
			t.Errorf("what was said before counts: %t: %s", told, c.reason)
		}
	}
}

// Of several machines that wait, the object tells about one that somebody has to do something about, and
// about the same one each time.
func TestAnObjectIsJudgedByTheMachineThatNeedsSomebody(t *testing.T) {
	provider := model.Key{Kind: "Provider", Namespace: "lab", Name: "pve"}
	for _, c := range []struct {
		waits []model.Reason
		want  string
	}{
		{[]model.Reason{model.WaitRollout, model.WaitAgent, model.WaitRollout}, "set-2"},
		{[]model.Reason{model.WaitAgent, model.WaitTask, model.WaitForeign}, "set-3"},
		{[]model.Reason{model.WaitNode, model.WaitPaused, model.WaitAgent}, "set-2"},
		{[]model.Reason{model.WaitAgent, model.WaitAgent, model.WaitAgent}, "set-1"},
		{[]model.Reason{model.WaitRollout, model.WaitDependents, model.WaitAgent}, "set-2"},
	} {
		for range 20 { // maps are read in any order
			e := entry{found: found{group: true, providers: []model.Key{provider}}, outcomes: map[teller]engine.Outcome{}}
			for i, reason := range c.waits {
				name := fmt.Sprintf("set-%d", i+1)
				e.found.members = append(e.found.members, name)
				e.outcomes[teller{provider, name}] = engine.Outcome{
					Owner: model.Owner{Key: model.Key{Kind: "VirtualMachine", Namespace: "lab", Name: name}}, State: engine.StateWaiting, Reason: reason, Wait: &plan.Wait{Reason: reason},
				}
			}
			if got, _ := e.worst(); got.Owner.Name != c.want {
				t.Fatalf("%v: %s, want %s", c.waits, got.Owner.Name, c.want)
			}
		}
	}
}
