package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/access"
)

// fewRights is a world in which ann@pve may clone, and not configure what she has cloned.
func fewRights() *pvesim.World {
	w := labWorld(2)
	w.Roles = []pvesim.WorldRole{{Name: "few", Privs: []string{"VM.Audit", "VM.Clone", "VM.Allocate", "Datastore.Audit", "Datastore.AllocateSpace", "Sys.Audit", "SDN.Use"}}}
	w.Users = append(w.Users, pvesim.WorldUser{ID: "ann@pve", Password: "secret"})
	w.ACL = []pvesim.WorldACL{{Path: "/", Role: "few", User: "ann@pve"}}
	return w
}

func TestNothingIsMadeThatProxmoxWouldRefuseToFinish(t *testing.T) {
	inLab(t, fewRights(), func(t *testing.T, l *lab) {
		l.client = l.connect(pve.Password("ann@pve", "secret"))
		from := l.sim.RequestCount()
		rep := l.converge(desired(machine("web")))
		o := rep.Objects[1]
		if o.Reason != model.WaitPrivilege || len(o.Wait.Lacks) != 1 || !strings.HasPrefix(o.Wait.Lacks[0].Path, "/vms/") || !slices.Contains(o.Wait.Lacks[0].Privs, "VM.Config.Memory") {
			t.Errorf("%s: %+v", describe(rep), o.Wait)
		}
		if len(l.ours()) != 0 {
			t.Errorf("%d machines were made", len(l.ours()))
		}
		asked := 0
		for _, r := range l.sim.Requests(from) {
			if strings.Contains(r.URL, "/access/permissions") {
				asked++
			}
		}
		if asked > 2 { // once for all, and once for the path that isn't listed
			t.Errorf("%d requests ask what ann may do", asked)
		}
	})
}

func TestAGrantIsNoticedByASession(t *testing.T) {
	inLab(t, fewRights(), func(t *testing.T, l *lab) {
		s := l.serve(l.connect(pve.Password("ann@pve", "secret")))
		defer s.end()
		s.Want(desired(machine("web")), nil)
		if o := s.await("web", engine.StateWaiting); o.Reason != model.WaitPrivilege {
			t.Fatalf("it is told as %+v", o)
		}
		l.sim.Do(func(st *pvesim.State) {
			st.Access.ACL = append(st.Access.ACL, access.Entry{Path: "/vms", Who: "ann@pve", Kind: "user", Role: "PVEVMAdmin", Propagate: true})
			st.Access.Forget()
		})
		s.await("web", engine.StateReady)
	})
}

func TestMissingPrivilegesAreNotTriedAgainAndNamed(t *testing.T) {
	inLab(t, fewRights(), func(t *testing.T, l *lab) {
		// Where Proxmox doesn't say what ann may do, its refusal does.
		if _, err := l.sim.AddFault(pvesim.Fault{Path: "/access/permissions", Status: 403, Reason: "Permission check failed"}); err != nil {
			t.Fatal(err)
		}
		l.client = l.connect(pve.Password("ann@pve", "secret"))
		rep := l.converge(desired(machine("web")))
		o := rep.Objects[1]
		if o.State != engine.StateFailed || o.Failure == nil || !strings.Contains(o.Failure.Hint.String(), "grant VM.Config.") || o.Failure.Lacks == nil || !strings.HasPrefix(o.Failure.Lacks.Path, "/vms/") {
			t.Fatalf("%s: %+v", describe(rep), o.Failure)
		}
		puts := slices.DeleteFunc(l.requests(0), func(r string) bool { return !strings.HasPrefix(r, "PUT") })
		if len(puts) != 1 {
			t.Errorf("it was tried %d times", len(puts))
		}
	})
}
