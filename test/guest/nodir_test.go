package guest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/inspect"
)

// made is all that is there: machines, volumes and directory mappings.
func (l *lab) made() (all []string) {
	l.t.Helper()
	l.sim.Do(func(st *pvesim.State) {
		for id := range st.VMs {
			all = append(all, fmt.Sprintf("VM %d", id))
		}
		all = slices.AppendSeq(all, maps.Keys(inspect.Volumes(st)))
		all = slices.AppendSeq(all, maps.Keys(st.DirMaps))
	})
	slices.Sort(all)
	return all
}

// Who finds out that a directory isn't there differs: Proxmox, the hook, QEMU.
func TestADirectoryThatIsMissingIsNamedAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	w := tinyWorld(t)
	w.Storages[0].Volumes = append(w.Storages[0].Volumes, hookVolume(t))
	l := newLab(t, w)
	none := filepath.Join(l.dir, "none")
	l.allow(fmt.Sprintf("rules: [{vms: [all], shares: [{path: %q}]}]", none))
	before := l.made()
	for _, how := range []string{"type: 9p", "type: virtiofs", "type: virtiofs, via: hook"} {
		out, err := l.tryApply(fmt.Sprintf(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: shares}
spec:
  classRef: {name: small}
  imageRef: {name: tiny}
  networks: [{name: lan, bridge: vmbr0}]
  filesystems: [{%s, source: %q, tag: things}]
`, how, none))
		if err == nil {
			t.Errorf("%s: it went well", how)
		}
		for _, want := range []string{none, "Make the directory on the node (mkdir -p)"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: it doesn't say %q:\n%s", how, want, out)
			}
		}
		if tries := strings.Count(out, "· vm/shares  start VM"); tries > 1 {
			t.Errorf("%s: it was tried %d times, and nobody can have made the directory:\n%s", how, tries, out)
		}
		if out, err := l.run("delete", "-f", filepath.Join(l.dir, "manifests.yaml"), "--yes"); err != nil {
			t.Errorf("%s: %v\n%s", how, err, out)
		}
		if diff := cmp.Diff(before, l.made()); diff != "" {
			t.Errorf("%s: left behind (-before +after):\n%s", how, diff)
		}
		if left, _ := filepath.Glob(filepath.Join(l.dir, "qemu", "nodes", "pve1", "run", "proxplane", "vm", "*", "*")); left != nil {
			t.Errorf("%s: the hook has left %v", how, left)
		}
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("somebody has made the directory")
	}
}
