package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/pvesim"
)

// FuzzAnyConfigIsImportedOrRefused imports machines with any config, also such as
// Proxmox itself wouldn't have taken: people edit the files. What comes out can be
// read again.
func FuzzAnyConfigIsImportedOrRefused(f *testing.F) {
	for _, m := range byHandMade {
		var lines []string
		for _, key := range slices.Sorted(maps.Keys(m.config)) {
			lines = append(lines, key+": "+m.config[key])
		}
		f.Add(strings.Join(lines, "\n"))
	}
	for _, text := range []string{
		"name: \u202egnp.example\nmemory: 99999999999999999999\ncores: -1", "name: ../../etc/passwd\nscsi0: ../../etc:x", "name: " + strings.Repeat("a", 300), "scsi0: local-lvm:x,size=-5G\nnet0: ,,,\nboot: order=;;",
		"net0: virtio=zz,bridge=\nipconfig0: ip=300.1.1.1/99,gw=x\nnameserver: x", "description: \"\\u0000 --- \\n- a: &a [*a]\"", "tags: ;;\u00e4;,\nmemory: current=\nballoon: 1e9", "args: 'a\nhostpci0: \nusb0: =",
		"machine: type=\ncpu: cputype=,flags=+\nnuma0: cpus=9-1", "sshkeys: %zz\ncicustom: user=\nefidisk0: \ntpmstate0: x", "scsi999: none\nnet-1: x\n: y\nUPPER: z", "description: <!-- proxplane {\"owner\":{\"name\":\"x\"}} -->",
	} {
		f.Add(text)
	}
	l, id := startLab(f), 700
	f.Fuzz(func(t *testing.T, text string) {
		own := *l
		own.TB = t
		own.sim.Do(func(st *pvesim.State) {
			conf := pvesim.Conf{"name": "any"}
			for line := range strings.Lines(text) {
				if key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); ok && key != "lock" && key != "" {
					conf[key] = value
				}
			}
			st.VMs[id] = &pvesim.VM{ID: id, Node: "pve1", Conf: conf}
		})
		code, out, stderr := own.run("import", fmt.Sprint(id))
		if code != exitOK && strings.TrimSpace(stderr) == "" {
			t.Fatalf("exit %d without a reason", code)
		}
		if out == "" {
			return
		}
		if _, err := manifest.Parse("imported.yaml", []byte(out)); err != nil {
			t.Errorf("what came out can't be read again: %v\n%s", err, out)
		}
	})
}
