package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// home is a Kubernetes cluster whose nodes fetch what they install from where nobody has to be asked.
const home = `
name: home
provider: {type: proxmox, nodes: ["*"], vip: 192.168.77.20, %s}
kubernetes: {version: v1.30.14+rke2r1, source: https://releases.test, checksum: %s}
nodes: {workers: {count: 1}}
`

// The privileges that the doctor names for a cluster's file are enough for its whole life, and those that let
// one into machines are among them.
func TestTheRoleForAClusterIsEnoughForItsLife(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason, release, from string
		agent                 []string
	}{
		{"an image that is fetched, on Proxmox VE 9", "9.2", "ha: true", []string{"VM.GuestAgent.Unrestricted"}},
		{"a template, on Proxmox VE 8", "8.4", "template: ubuntu-22-template", []string{"VM.Monitor"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			w := pvesim.DefaultWorld()
			w.Release = c.release
			sim.Quick(w)
			l := startLabIn(t, pvesim.NewFastClock(1), w)
			file := l.write("home.yaml", fmt.Sprintf(home, c.from, sim.ImageSum()))
			before := len(l.guests())
			token, commands := l.obey("cluster", file)
			if token.ID == "" {
				t.Fatalf("no token is made:\n%s", commands)
			}
			l.as(token)
			code, d := l.diagnose("cluster", file)
			if code != ui.ExitOK || !d.OK {
				t.Fatalf("with what it named, the doctor finds: %+v", d)
			}
			var names []string
			for _, g := range d.Needed {
				names = append(names, g.Names()...)
			}
			for _, want := range c.agent {
				if !slices.Contains(names, want) {
					t.Errorf("%s isn't among %v", want, names)
				}
			}
			backup := filepath.Join(l.folder, "home.backup")
			for _, args := range [][]string{
				{"init", "--config", file}, {"status", "-c", "home"}, {"validate", "-c", "home"}, {"kubeconfig", "-c", "home"},
				{"scale", "cp=3", "-c", "home"}, {"backup", "-c", "home", "-o", backup}, {"replace", "home-worker-0", "-c", "home", "--yes"},
				{"upgrade", "-c", "home", "--version", "v1.31.2+rke2r1", "--checksum", sim.ImageSum()}, {"rotate", "-c", "home"},
				{"scale", "cp=1", "-c", "home", "--yes"}, {"restore", backup, "--yes"}, {"destroy", "-c", "home", "--force", "--cleanup"},
			} {
				if code, out, stderr := l.run(append([]string{"cluster"}, args...)...); code != ui.ExitOK {
					t.Fatalf("cluster %v: exit %d\n%s%s", args, code, out, stderr)
				}
			}
			if after := l.guests(); len(after) != before {
				t.Errorf("%v are left", after)
			}
		})
	}
}

// guests are the names of all guests.
func (l *lab) guests() (names []string) {
	l.sim.Do(func(st *pvesim.State) {
		for _, vm := range st.VMs {
			names = append(names, vm.Name())
		}
	})
	return names
}
