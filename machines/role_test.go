package machines_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/machines"
	"github.com/proxplane/proxplane/privileges"
)

func TestTheRoleOfAMachineDeployment(t *testing.T) {
	text, err := os.ReadFile("../examples/machines/proxmox-machinedeployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for release, c := range map[int]struct{ agent, not string }{8: {"VM.Monitor", "VM.GuestAgent.Audit"}, 9: {"VM.GuestAgent.Audit", "VM.Monitor"}} {
		r, err := machines.RoleOf(text, release, "mc@pve!token")
		if err != nil {
			t.Fatal(err)
		}
		has := func(priv string) bool {
			return slices.ContainsFunc(r.Grants, func(g privileges.Grant) bool { return slices.Contains(g.Names(), priv) })
		}
		for _, priv := range []string{"VM.Clone", "VM.Allocate", "VM.PowerMgmt", "Datastore.AllocateSpace", c.agent} {
			if !has(priv) {
				t.Errorf("%d: %s is missing", release, priv)
			}
		}
		if has(c.not) {
			t.Errorf("%d: %s isn't one of this release", release, c.not)
		}
		// The page's template is on local storage, and copied to other nodes: machines are made from copies, too.
		if c := r.Copies; len(c) != 1 || c[0].Path != "/vms" || !slices.Equal(c[0].Names(), []string{"VM.Clone", "VM.Migrate"}) {
			t.Errorf("%d: copies take %+v", release, c)
		}
		alone, err := machines.RoleOf(bytes.Replace(text, []byte("vmTemplateID: 9000"), []byte("vmTemplateID: 9000\n            copies: never"), 1), release, "mc@pve!token")
		if err != nil || len(alone.Copies) > 0 {
			t.Errorf("%d: without copies, they take %+v: %v", release, alone.Copies, err)
		}
		all := strings.Join(r.Commands, "\n")
		if !strings.Contains(all, "pveum role add") || !strings.Contains(all, "mc@pve!token") || strings.Contains(all, c.not) {
			t.Errorf("%d: %s", release, all)
		}
		at := slices.IndexFunc(r.Page, func(p machines.PagePrivilege) bool { return p.Name == "VM.Monitor" })
		if p := r.Page[at]; p.Needed != (release == 8) || release == 9 && !strings.Contains(p.Why, "refuses a role with it") {
			t.Errorf("%d: %+v", release, p)
		}
	}
	if _, err := machines.RoleOf([]byte("kind: Pod\n"), 9, "a@pve!b"); err == nil {
		t.Error("a text without MachineDeployments has a role")
	}
}
