package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan/stage"
)

// world is the cluster that plans are tried out on, with what tests change about what is seen of it.
type world struct {
	*stage.World
	fails  map[Key]model.Failure
	bad    map[string]string // directories by what is wrong with them
	tasks  []model.Task
	hidden map[int]bool          // VMIDs of guests that aren't visible
	told   *strings.Builder      // see trace
	also   func(*model.Observed) // what is seen otherwise
}

// Key is short for tests.
type Key = model.Key

func newWorld() *world {
	w := &world{World: stage.New(), bad: map[string]string{}}
	w.Address = testAddress
	w.Live = func(g *model.Guest, option string) bool { return (&change{g: g, have: g.Config}).hotplugs(option) }
	w.List = func(g *model.Guest) {
		g.Memory, g.CPUs = model.MemoryOf(g.Config.Options), max(1, model.CPUsOf(g.Config.Options))
	}
	for i := 1; i <= 3; i++ {
		name := fmt.Sprintf("pve%d", i)
		w.Nodes[name] = &model.Node{Name: name, Online: true, CPUs: 16, Memory: 64 << 30, Used: int64(i) << 30}
	}
	room := func(gib int64) map[string]model.Room {
		out := map[string]model.Room{}
		for n := range w.Nodes {
			out[n] = model.Room{Total: gib << 30}
		}
		return out
	}
	w.Storages["nfs"] = &model.Storage{Name: "nfs", Type: "nfs", Shared: true, Content: map[string]bool{"images": true, "iso": true, "import": true}, OnNode: room(1000)}
	w.Storages["local-lvm"] = &model.Storage{Name: "local-lvm", Type: "lvmthin", Content: map[string]bool{"images": true}, OnNode: room(100)}
	w.template(9000, "ubuntu-22-template", "pve1", "nfs")
	return w
}

func (w *world) template(id int, name, node, storage string) {
	w.Guests[id] = &model.Guest{
		VMID: id, Name: name, Node: node, Template: true, Status: model.StatusStopped, CPUs: 2, Memory: 2 << 30, Disk: 8 << 30,
		Config: &model.Config{
			Digest: w.NextDigest(), Options: map[string]string{"name": name, "cores": "2", "memory": "2048", "boot": "order=scsi0", "agent": "1"},
			Disks: []model.Disk{{Slot: "scsi0", Volume: fmt.Sprintf("%s:base-%d-disk-0", storage, id), Storage: storage, Size: 8 << 30}},
			NICs:  []model.NIC{{Slot: "net0", Model: "virtio", MAC: "BC:24:11:00:00:01", Bridge: "vmbr0"}},
		},
		Snapshots: []model.SnapshotInfo{},
	}
}

// observe shows the world as far as it was asked for.
func (w *world) observe(l Look) *model.Observed {
	o := w.Observe(l)
	o.At, o.Failed, o.Tasks, o.IDs = time.Unix(1_800_000_000, 0), w.fails, w.tasks, nil
	if l.HA {
		o.HAGroups = map[string]bool{"fast": true, "slow": true}
		for name := range w.Rules {
			o.HAGroups[name] = true
		}
	}
	if l.Firewall {
		o.Firewall = clusterFirewall()
	}
	for node := range o.Bridges {
		o.Bridges[node] = map[string]bool{"vmbr0": true, "vmbr1": true, "vmbr2": true, "vmbr5": true}
	}
	for path := range o.Rights {
		o.Rights[path] = map[string]bool{"Datastore.Audit": true, "Pool.Audit": true, "SDN.Use": true, "Mapping.Use": true, "VM.Audit": true, "VM.Allocate": true, "VM.Clone": true, "VM.Migrate": true, "VM.Config.Options": true, mayAllocate: true, mayFetch: true}
	}
	for kind := range o.Mappings {
		o.Mappings[kind] = map[string]bool{"gpu": true}
	}
	for name, d := range o.Dirs {
		d.Bad = map[string]string{}
		for node, path := range d.Paths {
			if text := w.bad[node+":"+path]; text != "" {
				d.Bad[node] = text
			}
		}
		o.Dirs[name] = d
	}
	if w.also != nil {
		w.also(o)
	}
	return o
}

// plan looks as often as the plan asks for it.
func (w *world) plan(want model.Desired) Plan {
	p, looks := w.planLooks(want)
	if w.told != nil {
		tell(w.told, p, looks)
	}
	return p
}

// planAll is the plan for what is wanted when all is read.
func (w *world) planAll(want model.Desired) Plan {
	look := Look{Files: true, Snippets: true, Dirs: true, HA: true, Firewall: true, FirewallOff: true}
	for id := range w.Guests {
		look.Configs, look.Snapshots, look.Agents = append(look.Configs, id), append(look.Snapshots, id), append(look.Agents, id)
		look.Status, look.Firewalls = append(look.Status, id), append(look.Firewalls, id)
	}
	return For(want, w.observe(look))
}
