package cli

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/pveum"
)

// obey pastes the doctor's commands for manifests into a shell, and gives the token that
// they make, if they do.
func (l *lab) obey(args ...string) (token pve.CreatedToken, commands string) {
	l.Helper()
	_, d := l.diagnose(append(args, "--print-commands")...)
	for _, line := range d.Commands {
		made, err := pveum.Run(l.Context(), l.client(), line)
		if err != nil {
			l.Fatal(err)
		}
		if made.ID != "" {
			token = made
		}
	}
	return token, strings.Join(d.Commands, "\n")
}

// as has what follows done with a token.
func (l *lab) as(token pve.CreatedToken) {
	for name, value := range map[string]string{"PVE_USERNAME": "", "PVE_PASSWORD": "", "PVE_TOKEN_ID": token.ID, "PVE_TOKEN_SECRET": token.Secret.Reveal()} {
		l.env[name] = value
	}
}

// desks are machines that need other rights than those of shop: without an image, with a
// device, on other networks, on a template that is the same.
const desks = `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: desk}
spec: {cpus: 2, memory: 4Gi, spec: {vga: std}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: desk-1}
spec:
  classRef: {name: desk}
  networks: [{name: lan, bridge: vmbr1}]
  disks: [{name: root, size: 4Gi, storage: local-lvm}]
`

func TestCommandsForASecondSetTakeNothingFromTheFirst(t *testing.T) {
	for _, c := range []struct{ reason, first, second string }{
		{"the second needs less", shop, desks},
		{"the second needs more", desks, shop},
		{"on one guest only", shop, strings.Replace(desks, "spec:\n  classRef", "spec:\n  vmid: 4711\n  classRef", 1)},
		{"on one storage only", fetched, desks},
	} {
		t.Run(c.reason, func(t *testing.T) {
			l := ownLab(t)
			first, second := l.write("first.yaml", c.first), l.write("second.yaml", c.second)
			token, _ := l.obey("-f", first, "--set", "one")
			_, commands := l.obey("-f", second, "--set", "two")
			if strings.Contains(commands, "role modify") {
				t.Errorf("a role is changed that the first set needs:\n%s", commands)
			}
			l.as(token)
			for _, file := range []string{first, second} {
				if code, out, stderr := l.run("doctor", "-f", file); code != ui.ExitOK {
					t.Errorf("%s: exit %d\n%s%s", file, code, out, stderr)
				}
			}
			l.must("apply", "-f", first, "--set", "one")
			l.must("apply", "-f", second, "--set", "two")
		})
	}
}

// fetched is a machine from an image that is fetched to a storage and copied to another
// one, both of which nobody names.
const fetched = `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 2, memory: 4Gi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: debian}
spec: {url: "https://cloud.example.org/debian.qcow2"}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: desk-1}
spec:
  classRef: {name: small}
  imageRef: {name: debian}
  networks: [{name: lan}]
`

// The doctor's own token may look at what it did.
func TestTasksAreListedWithTheTokenOfTheDoctor(t *testing.T) {
	l := ownLab(t)
	file := l.write("desks.yaml", desks)
	token, _ := l.obey("-f", file)
	l.as(token)
	l.must("apply", "-f", file)
	wantText(t, l.must("get", "tasks"), `qmcreate`, `qmstart`)
	wantText(t, l.must("get", "tasks", "desk-1"), `qmstart`)
}

// Where nobody names a storage, one is chosen that the token may use, though it can see
// others with more room.
func TestDisksGoWhereTheTokenMayMakeThem(t *testing.T) {
	l := ownLab(t)
	if err := l.client().Call(l.Context(), "PUT", "/storage/nfs", pve.Params{"content": "iso,import"}, nil); err != nil {
		t.Fatal(err)
	}
	l.sim.Do(func(st *pvesim.State) {
		for key, space := range st.Spaces {
			if key.Storage == "local" {
				space.Base = space.Total - space.Used - 20<<30
			}
		}
	})
	l.sim.Advance(60e9)
	file := l.write("desks.yaml", fetched)
	token, commands := l.obey("-f", file)
	if !strings.Contains(commands, "/storage/local-lvm") || !strings.Contains(commands, "/storage/local ") {
		t.Fatalf("not what this test is about:\n%s", commands)
	}
	l.sim.Do(func(st *pvesim.State) {
		for key, space := range st.Spaces {
			switch key.Storage {
			case "local":
				space.Base = 0
			case "local-lvm":
				space.Base = space.Total - space.Used - 20<<30
			}
		}
	})
	l.sim.Advance(60e9)
	l.as(token)
	if code, out, stderr := l.run("doctor", "-f", file); code != ui.ExitOK {
		t.Errorf("exit %d\n%s%s", code, out, stderr)
	}
	l.must("apply", "-f", file)
	wantText(t, l.must("describe", "vm/desk-1"), `local-lvm:vm-\d+-disk-0`)
}
