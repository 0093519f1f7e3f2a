package operator

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
)

const claimed = 4711

// Somebody changes the Provider of a machine in the moment in which the former one claims it: the new one
// doesn't know of that yet, and would make the machine a second time.
func TestAMachineIsClaimedByOneProviderOnly(t *testing.T) {
	two := 2
	for name, test := range map[string]struct {
		was    api.MachineStatus
		spec   api.VirtualMachineSpec
		told   int // the VMID that the Provider was told of
		reason string
		says   string // empty: the claim is written
	}{
		"new": {reason: "nobody has claimed it"},
		"another Provider": {
			was: api.MachineStatus{Provider: "other", VMID: claimed}, reason: "the machine is being made there", says: "virtualmachine/lab/web is on Provider other",
		},
		"another Provider, several machines": {
			was: api.MachineStatus{Provider: "other", Members: []api.Member{{Name: "web-2", VMID: 1}}}, spec: api.VirtualMachineSpec{Count: &two},
			reason: "its machines are on one Provider", says: "is on Provider other",
		},
		"another process": {
			was: api.MachineStatus{Provider: "lab", VMID: 4000}, reason: "a second operator makes it under that VMID", says: "VMID 4000 was noted down",
		},
		"the same VMID": {was: api.MachineStatus{Provider: "lab", VMID: claimed}, reason: "Proxmox lets one of both make it"},
		"made anew":     {was: api.MachineStatus{Provider: "lab", VMID: 4000}, told: 4000, reason: "it is replaced"},
		"never made":    {was: api.MachineStatus{Provider: "other"}, reason: "nothing was claimed there"},
	} {
		t.Run(name, func(t *testing.T) {
			vm := &api.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "web", UID: "u"}, Spec: test.spec, Status: test.was}
			p, get := claiming(t, vm)
			owner := model.Owner{Key: keyOf(vm), UID: "u"}
			known := found{uid: "u", identity: "u", group: test.spec.Count != nil}
			if known.group {
				owner.Name, known.members = "web-1", []string{"web-1", "web-2"}
			}
			p.asked.desired.VMs = []model.VM{{Owner: owner, Remembered: test.told}}
			p.deps.ledger.translated("lab", map[model.Key]found{keyOf(vm): known})
			err := p.claim(t.Context(), owner, claimed, "pve1")
			is := get().Status
			now := is.VMID
			if known.group {
				now = member(&is, "web-1").VMID
			}
			switch {
			case test.says == "" && (err != nil || now != claimed || is.Provider != "lab"):
				t.Errorf("%s: VMID %d on %s, error %v", test.reason, now, is.Provider, err)
			case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)):
				t.Errorf("%s: the error is %v, not %q", test.reason, err, test.says)
			case test.says != "" && (now != test.was.VMID || is.Provider != test.was.Provider):
				t.Errorf("%s: VMID %d on %s", test.reason, now, is.Provider)
			}
		})
	}
}

// A VMID that this process has claimed itself may be given up for another one before anybody is told.
func TestAClaimOfOneselfCanBeChanged(t *testing.T) {
	vm := &api.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "web", UID: "u"}}
	p, get := claiming(t, vm)
	owner := model.Owner{Key: keyOf(vm), UID: "u"}
	p.asked.desired.VMs = []model.VM{{Owner: owner}}
	p.deps.ledger.translated("lab", map[model.Key]found{keyOf(vm): {uid: "u", identity: "u"}})
	for _, vmid := range []int{claimed, claimed + 1} {
		if err := p.claim(t.Context(), owner, vmid, "pve1"); err != nil || get().Status.VMID != vmid {
			t.Errorf("VMID %d instead of %d, error %v", get().Status.VMID, vmid, err)
		}
	}
}

// What a Provider reports before it is known that another one has claimed the machine isn't written over the claim.
func TestAnOutcomeIsNotWrittenOverTheClaimOfAnotherProvider(t *testing.T) {
	claims, members := api.MachineStatus{Provider: "claims", VMID: claimed}, api.MachineStatus{Provider: "claims", Members: []api.Member{{Name: "web-1", VMID: claimed}}}
	for name, superseded := range map[string]bool{"claims": false, "reports": true} {
		e := entry{outcomes: map[teller]engine.Outcome{{provider: model.Key{Kind: "Provider", Namespace: "lab", Name: name}}: {VMID: claimed}}}
		for _, o := range []object{&api.VirtualMachine{Status: claims}, &api.VMClone{Status: claims}, &api.VirtualMachine{Status: members}} {
			if got := e.superseded(o); got != superseded {
				t.Errorf("%T: what %s reports is superseded: %t", o, name, got)
			}
		}
		if e.superseded(&api.VirtualMachine{Status: api.MachineStatus{Provider: "claims"}}) {
			t.Errorf("nothing was claimed, and what %s reports is superseded", name)
		}
	}
}

// An outcome that a Provider reports late, when the object is another one's, says nothing of it.
func TestAnOutcomeOfAFormerProviderIsNotTheObjects(t *testing.T) {
	key, here, before := model.Key{Kind: "VirtualMachine", Namespace: "lab", Name: "web"}, model.Key{Kind: "Provider", Namespace: "lab", Name: "here"}, model.Key{Kind: "Provider", Namespace: "lab", Name: "before"}
	l := newLedger()
	l.translated("lab", map[model.Key]found{key: {uid: "u", identity: "u", providers: []model.Key{here}}})
	l.record(before, engine.Outcome{Owner: model.Owner{Key: key, UID: "u"}, VMID: 100})
	if e, _ := l.of(key, "u", false); len(e.outcomes) != 0 {
		t.Errorf("it has %d outcomes", len(e.outcomes))
	}
}

// claiming is a Provider whose cache has an object as it was before anybody claimed anything.
func claiming(t *testing.T, vm *api.VirtualMachine) (*provider, func() *api.VirtualMachine) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	is := fake.NewClientBuilder().WithScheme(scheme).WithObjects(vm).WithStatusSubresource(vm).Build()
	late := interceptor.NewClient(is, interceptor.Funcs{Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
		was := vm.DeepCopy()
		was.Status, was.ResourceVersion = api.MachineStatus{}, "1"
		was.DeepCopyInto(o.(*api.VirtualMachine))
		return nil
	}})
	d := &deps{client: late, direct: is, ledger: newLedger(), claims: make(chan struct{}, 1)}
	p := &provider{key: model.Key{Kind: "Provider", Namespace: "lab", Name: "lab"}, deps: d, claims: map[model.Owner]int{}}
	return p, func() *api.VirtualMachine {
		var now api.VirtualMachine
		if err := is.Get(t.Context(), client.ObjectKeyFromObject(vm), &now); err != nil {
			t.Fatal(err)
		}
		return &now
	}
}
