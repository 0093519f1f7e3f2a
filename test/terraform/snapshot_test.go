package terraform_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// kept are two machines, each with a snapshot of the same name.
const kept = `
resource "proxplane_virtual_machine" "web" {
  name     = "web"
  replicas = 2
  class    = { cpus = 1, memory = "1Gi" }
  image    = { source = "ubuntu-22-template" }
}
resource "proxplane_snapshot" "before" {
  count          = %d
  name           = "before"
  vmid           = proxplane_virtual_machine.web.machines[count.index].vmid
  description    = %q
  include_memory = true
}
`

// snapshots are those of all machines, with whether they have the memory.
func (b *bench) snapshots() string {
	var list []string
	b.server.Do(func(st *pvesim.State) {
		for _, name := range strings.Fields(b.names(st)) {
			snaps := sim.VM(st, name).Snaps
			for _, s := range slices.Sorted(maps.Keys(snaps)) {
				list = append(list, fmt.Sprintf("%s:%s:%v", name, s, snaps[s].Conf["vmstate"] != ""))
			}
		}
	})
	return strings.Join(list, " ")
}

func (b *bench) has(snapshots string) {
	b.Helper()
	if got := b.snapshots(); got != snapshots {
		b.Errorf("there are the snapshots %q, want %q", got, snapshots)
	}
}

func TestSnapshotsComeAndGo(t *testing.T) {
	b := begin(t)
	before := b.census()
	b.config(fmt.Sprintf(kept, 2, "why"))
	b.says(b.planned(), "3 to add")
	b.apply()
	b.settled()
	const both = "web-1:before:true web-2:before:true"
	b.has(both)

	// Somebody has deleted one.
	b.touch("web-2", "DELETE", "/snapshot/before", nil)
	b.says(b.planned(), "1 to add, 0 to change, 0 to destroy")
	b.apply()
	b.settled()
	b.has(both)

	// It stays as it was taken.
	b.config(fmt.Sprintf(kept, 2, "something else"))
	b.says(b.refused(), "description can't be changed", "A snapshot stays as it was taken")
	b.config(fmt.Sprintf(kept, 2, "why"))

	// Without a state it is found, and with an import.
	b.do("state", "rm", "proxplane_snapshot.before")
	var vmid int
	b.server.Do(func(st *pvesim.State) { vmid = sim.VM(st, "web-1").ID })
	b.do("import", "proxplane_snapshot.before[0]", fmt.Sprintf("%d/before", vmid))
	b.says(b.planned(), "1 to add, 0 to change, 0 to destroy")
	b.apply()
	b.settled()
	b.has(both)

	// Fewer of them, and none; the machine stays as it is.
	b.config(fmt.Sprintf(kept, 1, "why"))
	b.says(b.apply(), "0 added, 0 changed, 1 destroyed")
	b.settled()
	b.has("web-1:before:true")
	b.destroy()
	b.nothingLeft(before)
}

func TestSnapshotsOfOthersStayTheirs(t *testing.T) {
	b := begin(t)
	b.byHand(700, pve.Settings{"name": "theirs"})
	b.config(fmt.Sprintf(kept, 0, "why"))
	b.apply()
	b.touch("web-1", "POST", "/snapshot", pve.Params{"snapname": "before"})
	b.touch("web-1", "POST", "/snapshot", pve.Params{"snapname": "mine"})
	b.config(fmt.Sprintf(kept, 1, "why"))
	b.says(b.refused(), `has a snapshot "before" that isn't ours; choose another name`)
	out, code := b.run("import", "proxplane_snapshot.before[0]", fmt.Sprintf("%s/mine", strings.TrimPrefix(strings.Fields(b.vmids())[1], "web-1=")))
	if code != 1 {
		t.Errorf("import ended with %d", code)
	}
	b.says(out, "wasn't taken by a proxplane_snapshot of set shop")
	for _, c := range []struct{ vmid, want string }{
		{"700", "isn't a machine of set shop"},
		{"4711", "there is no VM 4711"},
	} {
		b.config(fmt.Sprintf(kept, 0, "why") + "resource \"proxplane_snapshot\" \"other\" {\n  name = \"other\"\n  vmid = " + c.vmid + "\n}\n")
		b.says(b.refused(), c.want)
	}
	b.has("web-1:before:false web-1:mine:false")
}

func TestTheExampleTakesASnapshotOfEachMachine(t *testing.T) {
	b := example(t, "for-each")
	b.apply()
	b.has("")
	b.env = append(b.env, "TF_VAR_snapshot=before-upgrade")
	b.says(b.apply(), "3 added, 0 changed, 0 destroyed")
	b.settled()
	b.has("db:before-upgrade:false web-a:before-upgrade:false web-b:before-upgrade:false")
}
