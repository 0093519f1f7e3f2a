package importer

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/anyguest"
	kit "github.com/proxplane/proxplane/test/kit/sim"
)

// FuzzAnyConfigIsImportedOrRefused imports machines with any config, also such as
// Proxmox itself wouldn't have taken: people edit the files. What comes out can be
// read again.
func FuzzAnyConfigIsImportedOrRefused(f *testing.F) {
	for _, m := range anyguest.ByHand {
		var lines []string
		for _, key := range slices.Sorted(maps.Keys(m.Config)) {
			lines = append(lines, key+": "+m.Config[key])
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
	sim, err := pvesim.New(nil, pvesim.WithClock(pvesim.NewFastClock(15)))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { sim.Close() })
	// One connection for all: logging in takes longer than everything else.
	client := kit.Dial(f, sim, pve.Password("root@pam", "proxplane"))
	const id = 700
	i := &importing{}
	i.Flags(&cobra.Command{}, false)
	f.Fuzz(func(t *testing.T, text string) {
		sim.Do(func(st *pvesim.State) {
			conf := pvesim.Conf{"name": "any"}
			for line := range strings.Lines(text) {
				if key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); ok && key != "lock" && key != "" {
					conf[key] = value
				}
			}
			st.VMs[id] = &pvesim.VM{ID: id, Node: "pve1", Conf: conf}
		})
		c := &target.Site{Client: client, Observer: observe.New(client)} // that knows nothing of the one before
		ids, err := readGuests(t.Context(), c, []string{strconv.Itoa(id)})
		var found imported
		if err == nil {
			found, err = i.write(c, ids)
		}
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Fatal("it is refused without a reason")
			}
			return
		}
		if _, err := manifest.Parse("imported.yaml", []byte(found.docs.Text())); err != nil {
			t.Errorf("what came out can't be read again: %v\n%s", err, found.docs.Text())
		}
	})
}
