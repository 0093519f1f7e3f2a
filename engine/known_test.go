package engine_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// A storage that was added a moment ago is in the list without figures until the next status round. The nodes know it.
func TestStoragesThatWereJustAddedAreUsed(t *testing.T) {
	url, checksum := library(t)
	w := labWorld(2)
	for i := range w.Storages {
		w.Storages[i].Content = []string{"images"}
	}
	inLab(t, w, func(t *testing.T, l *lab) {
		params := pve.Params{"storage": "fresh", "type": "dir", "path": "/srv/fresh", "content": "import,iso,images"}
		if err := l.client.Call(t.Context(), http.MethodPost, "/storage", params, nil); err != nil {
			t.Fatal(err)
		}
		image := fetched(url, checksum)
		image.Storage = "fresh"
		l.mustConverge(model.Desired{Set: "test", Images: []model.Image{image}})
	})
}

// What is asked for before machines are made doesn't grow with their number.
func TestManyMachinesAskOnceForTheBridges(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		l.mustConverge(desired(machines(20)...))
		asked := 0
		for _, r := range l.requests(0) {
			if strings.HasSuffix(r, "/network") {
				asked++
			}
		}
		if asked != 3 {
			t.Errorf("%d lists of bridges", asked)
		}
	})
}

// What is asked for before a machine is made doesn't grow with the number of nodes: it goes to one.
func TestOneMachineAsksOneNode(t *testing.T) {
	inLab(t, labWorld(5), func(t *testing.T, l *lab) {
		if _, err := l.engine().Plan(t.Context(), desired(machine("web"))); err != nil {
			t.Fatal(err)
		}
		asked := map[string]int{}
		for _, r := range l.requests(0) {
			for _, what := range []string{"/network", "/storage/local/content"} {
				if strings.HasSuffix(r, what) {
					asked[what]++
				}
			}
		}
		if asked["/network"] != 1 || asked["/storage/local/content"] != 1 {
			t.Errorf("there were requests %v", asked)
		}
	})
}

// A node that turns out to lack a bridge is left out, whatever else speaks for it.
func TestAMachineGoesWhereItsBridgeIs(t *testing.T) {
	w := labWorld(5)
	w.Nodes[4].Bridges = append(w.Nodes[4].Bridges, pvesim.WorldBridge{Name: "vmbr7"})
	inLab(t, w, func(t *testing.T, l *lab) {
		web := machine("web")
		web.NICs = []model.NIC{{Slot: "net0", Name: "lan", Model: "virtio", Bridge: "vmbr7"}}
		l.mustConverge(desired(web))
		l.vm("web", func(_ *pvesim.State, vm *pvesim.VM) {
			if vm.Node != "pve5" {
				t.Errorf("it is on %s", vm.Node)
			}
		})
	})
}

// Who plans and begins a session right afterwards has the lists read once.
func TestASessionBeginsWithListsThatWereJustRead(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		e := l.engine()
		if _, err := e.Plan(t.Context(), desired(machine("web"))); err != nil {
			t.Fatal(err)
		}
		s := l.newSession()
		var ctx context.Context
		ctx, s.cancel = context.WithCancel(context.Background())
		s.Session = e.Serve(ctx, s.listens())
		defer s.end()
		s.Want(desired(machine("web")), nil)
		s.await("web", engine.StateReady)
		lists := 0
		for _, r := range l.requests(0) {
			if strings.HasSuffix(r, "/cluster/resources") {
				lists++
			}
		}
		if lists != 1 {
			t.Errorf("the guests were listed %d times", lists)
		}
	})
}
