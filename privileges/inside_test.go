package privileges

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// Who runs programs in guests needs more than who reads files there, from Proxmox VE 9 on.
func TestReachingIntoGuestsTakesPrivileges(t *testing.T) {
	want := model.Desired{Set: "all", VMs: richSet().VMs[:1]}
	for _, c := range []struct {
		release int
		inside  []string
		wants   string // empty: nothing for that
	}{
		{8, nil, ""},
		{8, []string{"Exec"}, "VM.Monitor"},
		{8, []string{"ReadFile"}, "VM.Monitor"},
		{9, nil, ""},
		{9, []string{"Exec"}, "VM.GuestAgent.Unrestricted"},
		{9, []string{"ReadFile"}, "VM.GuestAgent.FileRead"},
		{9, []string{"Exec", "ReadFile"}, "VM.GuestAgent.Unrestricted"},
	} {
		needs, err := For(want, Facts{Release: c.release, Have: richWorld(), Inside: c.inside})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range needs.Grants {
			for _, p := range g.Privs {
				if slices.Contains(p.For, "run programs in guests") || slices.Contains(p.For, "read files in guests") {
					got = append(got, p.Name)
				}
			}
		}
		if c.wants == "" && len(got) > 0 || c.wants != "" && !slices.Equal(got, []string{c.wants}) {
			t.Errorf("%d %v: %v", c.release, c.inside, got)
		}
	}
}
