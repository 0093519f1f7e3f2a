//go:build linux

package qemu

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

func TestGuestsOfANodeHaveTheirHooksRunAtOnce(t *testing.T) {
	script := filepath.Join(t.TempDir(), "a.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncat \"$PROXPLANE_ROOT/etc/pve/qemu-server/$1.conf\" && echo $2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &Backend{dir: t.TempDir()}
	const path = "/var/lib/vz/snippets/a.sh"
	var all sync.WaitGroup
	for vmid := 100; vmid < 130; vmid++ {
		all.Go(func() {
			for _, phase := range []string{"pre-start", "post-start"} {
				out, err := b.Hook(t.Context(), &pvesim.Hook{
					Node: "pve1", Script: path, VMID: vmid, Phase: phase, Files: map[string]string{path: script},
					Texts: map[string]string{"/etc/pve/storage.cfg": "dir: local\n", fmt.Sprintf("/etc/pve/qemu-server/%d.conf", vmid): fmt.Sprintln("name: vm", vmid)},
				})
				if want := fmt.Sprintf("name: vm %d\n%s\n", vmid, phase); err != nil || out != want {
					t.Errorf("VM %d: %q, %v; want %q", vmid, out, err, want)
				}
			}
		})
	}
	all.Wait()
}
