package engine_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

var testKeys = model.Keys{[]byte("0123456789abcdef0123456789abcdef")}

// neighbour is a world in which VM 500 is somebody else's: he may configure it, and
// so writes whatever he likes into its name, tags and notes.
func neighbour(m model.Marker, name, fingerprint string) *pvesim.World {
	w := labWorld(1)
	w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 500, Node: "pve1", Config: map[string]string{
		"name": name, "memory": "512", "cores": "1", "scsi0": "local-lvm:1", "tags": model.Tag + ";" + model.StateTag(m.Owner, fingerprint),
		"description": model.Describe("", m),
	}})
	return w
}

func TestAMarkerThatANeighbourWroteProvesNothing(t *testing.T) {
	m := machine("web")
	forged := model.Marker{Owner: m.Owner, VMID: 500}
	for reason, test := range map[string]struct {
		keys   model.Keys
		marker func() model.Marker
		made   bool // the neighbour can't keep the machine from being made
	}{
		"without a key":                    {nil, func() model.Marker { return forged }, false},
		"with a key":                       {testKeys, func() model.Marker { return forged }, true},
		"with a signature that he made up": {testKeys, func() model.Marker { f := signedMarker(forged); f.Sig = f.Sig[:len(f.Sig)-4] + "0000"; return f }, true},
		"with that of another machine": {testKeys, func() model.Marker {
			f := forged
			f.Sig = signedMarker(model.Marker{Owner: m.Owner, VMID: 501}).Sig
			return f
		}, true},
	} {
		t.Run(reason, func(t *testing.T) {
			inLab(t, neighbour(test.marker(), "web", m.Fingerprint()), func(t *testing.T, l *lab) {
				l.keys = test.keys
				before := l.ours()[500]
				want := desired(machine("web"))
				rep := l.converge(want)
				if after := l.ours()[500]; !maps.Equal(before, after) {
					t.Errorf("the neighbour's VM was changed:\n%v\n%v", before, after)
				}
				if rep.Converged() != test.made {
					t.Errorf("converged: %v\n%s", rep.Converged(), describe(rep))
				}
				if !test.made && !strings.Contains(describe(rep), "VM 500 on pve1 says in its notes") {
					t.Errorf("it isn't told which VM is meant:\n%s", describe(rep))
				}
				// Nor does it go with the machine.
				want.VMs[0].Deleted = true
				l.converge(want)
				want = desired()
				want.Prune = true
				l.converge(want)
				if after := l.ours()[500]; !maps.Equal(before, after) || len(l.ours()) != 1 {
					t.Errorf("after delete and prune there are %d machines, the neighbour's is %v", len(l.ours()), after)
				}
			})
		})
	}
}

// signedMarker is a marker as one who has the key writes it.
func signedMarker(m model.Marker) model.Marker {
	_, signed, _ := model.ParseDescription(testKeys.Sign(model.Describe("", m)))
	return signed
}

func TestASignedMarkerProvesWhoseAMachineIsUnderAnyVMID(t *testing.T) {
	inLab(t, neighbour(signedMarker(model.Marker{Owner: machine("web").Owner, VMID: 500}), "web", "unfinished"), func(t *testing.T, l *lab) {
		l.keys = testKeys
		want := desired(machine("web"))
		want.Allow = model.Allow{Restart: true, Data: true}
		l.mustConverge(want)
		if all := l.ours(); len(all) != 1 || all[500]["cores"] != "4" {
			t.Errorf("%v", all)
		}
		_, m, _ := model.ParseDescription(l.ours()[500]["description"])
		if testKeys.Verify(&m) != model.Signed {
			t.Errorf("its marker isn't signed any more: %v", m)
		}
		want.VMs[0].Deleted = true
		if l.mustConverge(want); len(l.ours()) != 0 {
			t.Errorf("%v", l.ours())
		}
	})
}

// Between the plan and the act the signature goes, and somebody else's machine is there.
func TestDestroyDemandsTheSignatureThatThePlanSaw(t *testing.T) {
	inLab(t, neighbour(signedMarker(model.Marker{Owner: machine("web").Owner, VMID: 500}), "web", "unfinished"), func(t *testing.T, l *lab) {
		l.keys = testKeys
		want := desired(machine("web"))
		want.VMs[0].Deleted = true
		e := l.engine()
		if _, err := e.Plan(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		l.sim.Do(func(s *pvesim.State) {
			s.VMs[500].Conf["description"] = model.Describe("", model.Marker{Owner: machine("web").Owner, VMID: 500})
		})
		if _, err := e.Converge(t.Context(), want, engine.Options{}); err != nil {
			t.Fatal(err)
		}
		if l.ours()[500] == nil {
			t.Error("it was destroyed")
		}
	})
}

func TestKeysAreRotatedWithoutLosingAMachine(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		old, next := testKeys[0], []byte("fedcba9876543210fedcba9876543210")
		vm := machine("web")
		vm.VMID = 120
		l.keys = model.Keys{old}
		l.mustConverge(desired(vm))
		vm.VMID = 0 // found by its signature alone from here on
		for _, l.keys = range []model.Keys{{next, old}, {next, old}} {
			vm.Description += " again"
			l.mustConverge(desired(vm))
		}
		l.keys = model.Keys{next}
		l.mustConverge(desired(vm))
		if all := l.ours(); len(all) != 1 || all[120] == nil {
			t.Errorf("%v", all)
		}
		// Without the key nobody knows whose it is: that is said, and no second one is made.
		l.keys = nil
		if rep := l.converge(desired(vm)); rep.Converged() || len(l.ours()) != 1 {
			t.Errorf("%s%v", describe(rep), l.ours())
		}
		// Where its VMID is given, no key is needed.
		vm.VMID = 120
		l.mustConverge(desired(vm))
	})
}
