package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// starts are the requests that start a machine.
func (l *lab) starts() int {
	return len(slices.DeleteFunc(l.requests(0), func(r string) bool { return !strings.HasSuffix(r, "/status/start") }))
}

func TestMachinesGoToNodesWithEnoughCPUs(t *testing.T) {
	w := labWorld(3)
	w.Nodes[0].CPUs, w.Nodes[1].CPUs, w.Nodes[2].CPUs = 2, 3, 4
	w.Nodes[2].Memory = 64 << 30 // the others have far more
	inLab(t, w, func(t *testing.T, l *lab) {
		want := desired(machines(3)...) // of 4 CPUs each
		l.mustConverge(want)
		for id, conf := range l.ours() {
			if conf["node"] != "pve3" || conf["running"] != "1" {
				t.Errorf("VM %d is on %s, running %q", id, conf["node"], conf["running"])
			}
		}
		if l.starts() != 3 {
			t.Errorf("%d starts", l.starts())
		}
	})
}

func TestNothingIsMadeThatNoNodeCanStart(t *testing.T) {
	w := labWorld(2)
	w.Nodes[0].CPUs, w.Nodes[1].CPUs = 2, 3
	inLab(t, w, func(t *testing.T, l *lab) {
		rep := l.converge(desired(machine("web")))
		if rep.Converged() || len(l.ours()) > 0 || writes(l.requests(0)) > 0 {
			t.Errorf("%s%d machines, %d writes", describe(rep), len(l.ours()), writes(l.requests(0)))
		}
	})
}

// Credentials without Sys.Audit aren't shown how many CPUs nodes have, so that Proxmox refuses the start. It does so each time.
func TestStartsThatProxmoxRefusesForGoodAreNotTriedAgain(t *testing.T) {
	w := labWorld(1)
	w.Nodes[0].CPUs = 2
	w.Users = append(w.Users, pvesim.WorldUser{ID: "me@pve", Tokens: []pvesim.WorldToken{{Name: "lab", Secret: secret}}})
	for _, role := range []string{"PVEVMAdmin", "PVEDatastoreAdmin", "PVESDNUser"} {
		w.ACL = append(w.ACL, pvesim.WorldACL{Path: "/", Role: role, User: "me@pve"})
	}
	inLab(t, w, func(t *testing.T, l *lab) {
		l.client = l.connect(pve.Token("me@pve!lab", secret))
		rep := l.converge(desired(machine("web")))
		i := slices.IndexFunc(rep.Objects, func(o engine.Outcome) bool { return o.Owner.Name == "web" })
		if o := rep.Objects[i]; o.State != engine.StateFailed || !strings.Contains(o.Text, "MAX 2 vcpus allowed") || !strings.Contains(o.Failure.Hint.String(), "fewer CPUs") {
			t.Errorf("%s", describe(rep))
		}
		if l.starts() != 1 {
			t.Errorf("%d starts", l.starts())
		}
	})
}
