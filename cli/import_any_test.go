package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/anyguest"
	"github.com/proxplane/proxplane/test/kit/chance"
)

// TestAnyMachineCanBeImported: whatever Proxmox holds, its manifest changes nothing,
// neither before nor after it was adopted.
func TestAnyMachineCanBeImported(t *testing.T) {
	l := ownLab(t)
	client := l.client()
	l.allocate(client, slices.Concat(anyguest.Drives, slices.Concat(slices.Collect(maps.Values(anyguest.Options))...)))
	id := 1000
	chance.CheckFew(t, 30, func(t *rapid.T) {
		id++
		name := fmt.Sprintf("any-%d", id)
		conf := anyguest.Settings(t)
		upid, err := client.Node("pve2").Create(l.Context(), pve.CreateOptions{ID: id, Settings: pve.Settings{"name": name}})
		if err == nil {
			_, err = client.Task(upid).Wait(l.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		l.sim.Do(func(st *pvesim.State) {
			for k, v := range conf {
				st.VMs[id].Conf[k] = v
			}
		})
		code, manifest, stderr := l.run("import", name, "--adopt", "--yes")
		if code != ui.ExitOK {
			t.Fatalf("import: exit %d\n%s\n%s", code, stderr, manifest)
		}
		file := l.write(name+".yaml", manifest)
		code, out, stderr := l.run("plan", "-f", file, "--deep")
		if code != ui.ExitOK || !strings.HasPrefix(out, "Nothing to do") {
			t.Fatalf("plan: exit %d\n%s%s\n%s", code, out, stderr, manifest)
		}
		l.sim.Do(func(st *pvesim.State) {
			for k, v := range conf {
				switch now := st.VMs[id].Conf[k]; {
				case k == "tags" || k == "description":
				case now != v:
					t.Errorf("%s was %q, and is %q", k, v, now)
				}
			}
			delete(st.VMs, id) // two with the same addresses can't be in a manifest
		})
	})
}
