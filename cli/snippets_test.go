//go:build unix

package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/host/ssh/sshtest"
	"github.com/proxplane/proxplane/pvesim"
)

// farm is a lab whose nodes can be logged in to. What is put into their folders of
// snippets is on their storages.
type farm struct {
	*lab
	nodes map[string]*sshtest.Server
	key   []byte
}

func newFarm(t *testing.T) *farm {
	t.Helper()
	f := &farm{lab: ownLab(t), nodes: map[string]*sshtest.Server{}}
	f.env["HOME"] = t.TempDir()
	for _, node := range []string{"pve1", "pve2", "pve3"} {
		s := sshtest.Start(t)
		if f.key == nil {
			f.key = s.Authorize()
		}
		s.AuthorizeKey(f.key)
		s.OnFile(func(file string) {
			content, err := os.ReadFile(filepath.Join(s.Folder, file))
			if err == nil {
				err = f.sim.PutFile(node, "local:snippets/"+path.Base(file), content)
			}
			if err != nil || path.Dir(file) != "/var/lib/vz/snippets" {
				t.Errorf("%s: %v", file, err)
			}
		})
		f.nodes[node] = s
	}
	return f
}

// manifest has one machine, whose first-boot data are snippets.
func (f *farm) manifest(knownHosts, text string) string {
	var addresses []string
	for node, s := range f.nodes {
		addresses = append(addresses, fmt.Sprintf("%s: %q", node, s.Address))
	}
	indent := func(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ") }
	return f.write("vms.yaml", fmt.Sprintf(`apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: lab}
spec:
  ssh:
    keySecretRef: {name: key}
    addresses: {%s}
    %s
---
apiVersion: v1
kind: Secret
metadata: {name: key}
stringData:
  ssh-privatekey: |
    %s
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 1, memory: 1Gi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu-22}
spec: {source: ubuntu-22-template}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: web}
spec:
  vmid: 300
  classRef: {name: small}
  imageRef: {name: ubuntu-22}
  networks: [{name: lan}]
  userData:
    delivery: snippets
    cloudInit:
      inline: |
        #cloud-config
        runcmd: [%s]
`, strings.Join(addresses, ", "), knownHosts, indent(string(f.key)), text))
}

// known are the keys of all nodes.
func (f *farm) known() string {
	var lines []string
	for _, s := range f.nodes {
		lines = append(lines, strings.Split(strings.TrimSpace(string(s.KnownHosts())), "\n")...)
	}
	return "knownHosts: |\n      " + strings.Join(lines, "\n      ")
}

// snippets are those on a node's storage.
func (f *farm) snippets(node string) []string {
	var names []string
	f.sim.Do(func(st *pvesim.State) {
		for at, space := range st.Spaces {
			for name := range space.Volumes {
				if at.Node == node && strings.HasPrefix(name, "snippets/") {
					names = append(names, name)
				}
			}
		}
	})
	return names
}

func TestSnippetsAreOnAllNodesAndGoWithTheMachine(t *testing.T) {
	f := newFarm(t)
	file := f.manifest(f.known(), "date")
	f.must("apply", "-f", file)
	for node, s := range f.nodes {
		if got := f.snippets(node); len(got) != 3 {
			t.Errorf("%s has %v", node, got)
		}
		files, err := os.ReadDir(filepath.Join(s.Folder, "var/lib/vz/snippets"))
		if err != nil || len(files) != 3 {
			t.Errorf("%s: %v, %v", node, files, err)
		}
		for _, e := range files {
			if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
			}
		}
	}
	if got := f.conf("web")["cicustom"]; !strings.Contains(got, "user=local:snippets/proxplane-300-") || !strings.Contains(got, "network=") {
		t.Errorf("cicustom: %s", got)
	}
	if out := f.must("plan", "-f", file, "--deep"); !strings.Contains(out, "Nothing to do") {
		t.Error(out)
	}

	// Other data take the place of the old ones.
	f.must("apply", "-f", f.manifest(f.known(), "uptime"))
	if got := f.snippets("pve2"); len(got) != 3 {
		t.Errorf("after a change: %v", got)
	}
	f.must("delete", "-f", file, "--yes")
	for node := range f.nodes {
		if got := f.snippets(node); len(got) != 0 {
			t.Errorf("left behind on %s: %v", node, got)
		}
	}
}

func TestNodesWithAnotherHostKeyGetNothing(t *testing.T) {
	f := newFarm(t)
	file := f.manifest(f.known(), "date")
	_, other := sshtest.Key(t)
	f.nodes["pve1"].SetHostKeys(other)
	code, out, _ := f.run("apply", "-f", file)
	if code != ui.ExitFailed {
		t.Errorf("exit %d", code)
	}
	wantText(t, out, `the host key has changed`, `If the node was installed anew`)
	if got := f.snippets("pve1"); len(got) != 0 {
		t.Errorf("pve1 has %v", got)
	}
	f.must("delete", "-f", file, "--yes")
	for node := range f.nodes {
		if got := f.snippets(node); len(got) != 0 || f.conf("web") != nil {
			t.Errorf("left behind on %s: %v", node, got)
		}
	}

	// Keys that aren't known are remembered, if that was asked for.
	file = f.manifest("trustOnFirstUse: true", "date")
	f.must("apply", "-f", file)
	_, third := sshtest.Key(t)
	f.nodes["pve2"].SetHostKeys(third)
	code, out, _ = f.run("apply", "-f", f.manifest("trustOnFirstUse: true", "uptime"))
	if code != ui.ExitFailed {
		t.Errorf("exit %d", code)
	}
	wantText(t, out, `the host key has changed`)
}

func TestAFullNodeIsToldAndNothingIsLeft(t *testing.T) {
	f := newFarm(t)
	for _, s := range f.nodes {
		s.OnWrite(func() error { return syscall.ENOSPC })
	}
	file := f.manifest(f.known(), "date")
	code, out, _ := f.run("apply", "-f", file, "--timeout", "20s")
	if code == ui.ExitOK {
		t.Errorf("exit %d", code)
	}
	wantText(t, out, `no space`, `free space on the node's storage`)
	for node, s := range f.nodes {
		if files, err := os.ReadDir(filepath.Join(s.Folder, "var/lib/vz/snippets")); err != nil && !errors.Is(err, os.ErrNotExist) || len(files) > 0 {
			t.Errorf("left behind on %s: %v, %v", node, files, err)
		}
	}
}

// conf is the config of a machine; nil: there is none.
func (f *farm) conf(name string) (conf map[string]string) {
	f.sim.Do(func(st *pvesim.State) {
		for _, vm := range st.VMs {
			if vm.Name() == name {
				conf = maps.Clone(vm.Conf)
			}
		}
	})
	return conf
}
