package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
)

// world is a Proxmox of nouns: it knows everything, shows what is looked at,
// and does what an action says at once. It is what plans are tried out on.
type world struct {
	guests map[int]*model.Guest // with everything known
	files  map[string]model.File
	nodes  map[string]*model.Node
	stores map[string]*model.Storage
	digest int
	fails  map[Key]model.Failure
	rules  map[string][]string
	ha     map[string]map[string]string
	dirs   map[string]model.Dir
	bad    map[string]string // directories by what is wrong with them
	snips  map[string]model.File
	root   bool
	minor  int
	tasks  []model.Task
	hidden map[int]bool // VMIDs of guests that aren't visible
	log    []string
	told   *strings.Builder      // see trace
	also   func(*model.Observed) // what is seen otherwise
}

// Key is short for tests.
type Key = model.Key

func newWorld() *world {
	w := &world{guests: map[int]*model.Guest{}, files: map[string]model.File{}, nodes: map[string]*model.Node{}, stores: map[string]*model.Storage{}, rules: map[string][]string{}, ha: map[string]map[string]string{}, dirs: map[string]model.Dir{}, bad: map[string]string{}, snips: map[string]model.File{}}
	for i := 1; i <= 3; i++ {
		name := fmt.Sprintf("pve%d", i)
		w.nodes[name] = &model.Node{Name: name, Online: true, CPUs: 16, Memory: 64 << 30, Used: int64(i) << 30}
	}
	room := func(gib int64) map[string]model.Room {
		out := map[string]model.Room{}
		for n := range w.nodes {
			out[n] = model.Room{Total: gib << 30}
		}
		return out
	}
	w.stores["nfs"] = &model.Storage{Name: "nfs", Type: "nfs", Shared: true, Content: map[string]bool{"images": true, "iso": true, "import": true}, OnNode: room(1000)}
	w.stores["local-lvm"] = &model.Storage{Name: "local-lvm", Type: "lvmthin", Content: map[string]bool{"images": true}, OnNode: room(100)}
	w.template(9000, "ubuntu-22-template", "pve1", "nfs")
	return w
}

func (w *world) template(id int, name, node, storage string) {
	w.guests[id] = &model.Guest{
		VMID: id, Name: name, Node: node, Template: true, Status: model.StatusStopped, CPUs: 2, Memory: 2 << 30, Disk: 8 << 30,
		Config: &model.Config{
			Digest: w.nextDigest(), Options: map[string]string{"name": name, "cores": "2", "memory": "2048", "boot": "order=scsi0", "agent": "1"},
			Disks: []model.Disk{{Slot: "scsi0", Volume: fmt.Sprintf("%s:base-%d-disk-0", storage, id), Storage: storage, Size: 8 << 30}},
			NICs:  []model.NIC{{Slot: "net0", Model: "virtio", MAC: "BC:24:11:00:00:01", Bridge: "vmbr0"}},
		},
		Snapshots: []model.SnapshotInfo{},
	}
}

func (w *world) nextDigest() string {
	w.digest++
	return fmt.Sprintf("%040d", w.digest)
}

// observe shows the world as far as it was asked for.
func (w *world) observe(l Look) *model.Observed {
	o := &model.Observed{At: time.Unix(1_800_000_000, 0), Release: 9, Minor: w.minor, Root: w.root, Nodes: w.nodes, Storages: w.stores, Guests: map[int]*model.Guest{}, Failed: w.fails, Tasks: w.tasks}
	for id, g := range w.guests {
		seen := *g
		seen.Config, seen.Snapshots, seen.Addresses, seen.Agent, seen.Firewall = nil, nil, nil, "", nil
		seen.StalePower = !slices.Contains(l.Status, id)
		if slices.Contains(l.Configs, id) {
			c := *g.Config
			seen.Config = &c
		}
		if slices.Contains(l.Snapshots, id) {
			seen.Snapshots = append([]model.SnapshotInfo{}, g.Snapshots...)
		}
		if slices.Contains(l.Agents, id) || slices.Contains(l.Ready, id) {
			seen.Agent, seen.Addresses = g.Agent, g.Addresses
		}
		if slices.Contains(l.Firewalls, id) {
			seen.Firewall = firewallIn(g)
		}
		seen.Shown = true
		o.Guests[id] = &seen
	}
	if l.HA {
		o.Rules, o.HA, o.HAGroups = maps.Clone(w.rules), maps.Clone(w.ha), map[string]bool{"fast": true, "slow": true}
		for name := range w.rules {
			o.HAGroups[name] = true
		}
	}
	if l.Firewall {
		o.Firewall = clusterFirewall()
	}
	o.Bridges, o.Rights, o.Mappings = map[string]map[string]bool{}, map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, node := range l.Bridges {
		o.Bridges[node] = map[string]bool{"vmbr0": true, "vmbr1": true, "vmbr2": true, "vmbr5": true}
	}
	for _, path := range l.Rights {
		o.Rights[path] = map[string]bool{"Datastore.Audit": true, "Pool.Audit": true, "SDN.Use": true, "Mapping.Use": true, "VM.Audit": true, "VM.Allocate": true, "VM.Clone": true, "VM.Migrate": true, "VM.Config.Options": true, mayAllocate: true, mayFetch: true}
	}
	o.URLs = map[string]model.URLState{}
	for _, key := range l.URLs {
		o.URLs[key] = model.URLState{}
	}
	for _, kind := range l.Mappings {
		o.Mappings[kind] = map[string]bool{"gpu": true}
	}
	if l.Volumes {
		o.Volumes = model.Volumes{}
		for name := range w.stores {
			o.Volumes[name] = nil
		}
		for id, g := range w.guests {
			for _, d := range g.Config.Disks {
				if on, there := o.Volumes[d.Storage]; there {
					o.Volumes[d.Storage] = append(on, model.Volume{ID: d.Volume, Node: g.Node, VMID: id})
				}
			}
		}
	}
	if l.Files {
		o.Files = maps.Clone(w.files)
	}
	if l.Snippets {
		o.Snippets = maps.Clone(w.snips)
	}
	if l.Dirs {
		o.Dirs = map[string]model.Dir{}
		for name, d := range w.dirs {
			d.Bad = map[string]string{}
			for node, path := range d.Paths {
				if text := w.bad[node+":"+path]; text != "" {
					d.Bad[node] = text
				}
			}
			o.Dirs[name] = d
		}
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
	look := Look{Files: true, Snippets: true, Dirs: true, HA: true, Firewall: true}
	for id := range w.guests {
		look.Configs, look.Snapshots, look.Agents = append(look.Configs, id), append(look.Snapshots, id), append(look.Agents, id)
		look.Status, look.Firewalls = append(look.Status, id), append(look.Firewalls, id)
	}
	return For(want, w.observe(look))
}

// do does an action, as Proxmox would.
func (w *world) do(a model.Action) {
	w.log = append(w.log, fmt.Sprintf("%T %d", a, a.Guest()))
	switch a := a.(type) {
	case model.Clone:
		w.clone(a)
	case model.Create:
		w.create(a)
	case model.Configure:
		w.configure(a)
	case model.Resize:
		c := w.guests[a.VMID].Config
		for i := range c.Disks {
			if c.Disks[i].Slot == a.Slot {
				c.Disks[i].Size = a.Size
				if a.Slot == bootSlot(c) {
					w.guests[a.VMID].Disk = a.Size
				}
			}
		}
	case model.MoveDisk:
		c := w.guests[a.VMID].Config
		for i, d := range c.Disks {
			if d.Slot == a.Slot {
				c.Disks[i].Storage, c.Disks[i].Volume = a.Storage, fmt.Sprintf("%s:vm-%d-%s", a.Storage, a.VMID, a.Slot)
				c.Disks[i].Format = cmp.Or(a.Format, d.Format)
			}
		}
		w.derive(w.guests[a.VMID])
	case model.Migrate:
		w.guests[a.VMID].Node = a.To
	case model.Start:
		w.start(w.guests[a.VMID])
	case model.Resume:
		w.guests[a.VMID].Status = model.StatusRunning
	case model.Reboot:
		w.start(w.guests[a.VMID])
	case model.Stop:
		w.guests[a.VMID].Status = model.StatusStopped
		w.applyPending(w.guests[a.VMID])
	case model.Shutdown:
		w.guests[a.VMID].Status = model.StatusStopped
		w.applyPending(w.guests[a.VMID])
	case model.Destroy:
		if g := w.guests[a.VMID]; g != nil && g.OwnedBy(a.Owner) && g.Status == model.StatusStopped {
			delete(w.guests, a.VMID)
		}
	case model.Release:
		g := w.guests[a.VMID]
		g.Tags, g.Config.Tags, g.Config.Text, g.Config.Marker = a.Tags, a.Tags, a.Description, nil
	case model.MakeTemplate:
		g := w.guests[a.VMID]
		g.Template = true
		for i, d := range g.Config.Disks {
			g.Config.Disks[i].Volume = strings.Replace(d.Volume, ":vm-", ":base-", 1)
		}
	case model.Snap:
		g := w.guests[a.VMID]
		s := model.SnapshotInfo{Name: a.Name, Description: a.Description, Memory: a.Memory, Time: int64(len(w.log) / 60)} // several within a second
		if n := len(g.Snapshots); n > 0 {
			s.Parent = g.Snapshots[n-1].Name
		}
		g.Snapshots = append(g.Snapshots, s)
	case model.Unsnap:
		g := w.guests[a.VMID]
		g.Snapshots = slices.DeleteFunc(g.Snapshots, func(s model.SnapshotInfo) bool { return s.Name == a.Name })
		for i := range g.Snapshots[min(1, len(g.Snapshots)):] {
			g.Snapshots[i+1].Parent = g.Snapshots[i].Name
		}
	case model.Rollback:
		g := w.guests[a.VMID]
		for i := range g.Snapshots {
			if g.Snapshots[i].Name == a.Name {
				g.Snapshots[i].Description = a.Note
			}
		}
	case model.Download:
		w.files[a.Storage+":import/"+a.File] = model.File{Volume: a.Storage + ":import/" + a.File, Node: a.Node, Content: "import"}
	case model.UploadSeed:
		w.files[a.Storage+":iso/"+a.File] = model.File{Volume: a.Storage + ":iso/" + a.File, Node: a.Node, Content: "iso"}
	case model.UploadSnippets:
		for _, volume := range a.Volumes {
			f, there := w.snips[volume]
			if there {
				f.Also = append(f.Also, a.Node)
			} else {
				f = model.File{Volume: volume, Node: a.Node, Content: "snippets"}
			}
			w.snips[volume] = f
		}
	case model.RemoveFile:
		delete(w.files, a.Volume)
		if f, there := w.snips[a.Volume]; there {
			nodes := slices.DeleteFunc(append([]string{f.Node}, f.Also...), func(n string) bool { return n == a.Node })
			delete(w.snips, a.Volume)
			if len(nodes) > 0 {
				f.Node, f.Also = nodes[0], nodes[1:]
				w.snips[a.Volume] = f
			}
		}
	case model.SetHA:
		w.setHA(a)
	case model.KeepApart:
		w.rules[a.Rule] = a.Resources
	case model.SetPool:
		w.guests[a.VMID].Pool = a.Pool
	case model.SetFirewall:
		w.setFirewall(a)
	case model.MakeShare:
		d := model.Dir{Made: true, Maker: a.Maker, Paths: map[string]string{}}
		for _, node := range a.Nodes {
			d.Paths[node] = a.Path
		}
		w.dirs[a.Name] = d
	case model.RemoveShare:
		delete(w.dirs, a.Name)
	case model.Detach:
		for _, k := range a.Options {
			delete(w.guests[a.VMID].Config.Options, k)
		}
	default:
		panic(fmt.Sprintf("%T isn't known", a))
	}
}

func (w *world) setHA(a model.SetHA) {
	g, id := w.guests[a.VMID], sid(a.VMID)
	if a.Disable {
		g.HAState = "disabled"
		return
	}
	for name := range w.rules {
		if a.HA == nil || a.HA.Group != "" && !strings.HasPrefix(name, "proxplane-") {
			w.rules[name] = slices.DeleteFunc(slices.Clone(w.rules[name]), func(r string) bool { return r == id })
		}
	}
	delete(w.ha, id)
	if a.HA == nil {
		g.HAState = ""
		return
	}
	w.ha[id] = map[string]string{"max_restart": itoa(max(1, a.HA.MaxRestart)), "max_relocate": itoa(max(1, a.HA.MaxRelocate))}
	if a.HA.Group != "" {
		w.rules[a.HA.Group] = append(w.rules[a.HA.Group], id)
	}
	switch {
	case !a.New:
	case a.Off:
		g.HAState = "stopped"
	default:
		g.HAState = "started"
		w.start(g)
	}
}

func (w *world) start(g *model.Guest) {
	w.applyPending(g)
	g.Status, g.Agent = model.StatusRunning, model.AgentUp
	g.Addresses = append(g.Addresses[:0], testAddress)
}

func (w *world) applyPending(g *model.Guest) {
	g.Config.Pending = nil
	w.derive(g)
}

func (w *world) clone(a model.Clone) {
	if w.guests[a.To.VMID] != nil {
		return // Proxmox refuses
	}
	src := w.guests[a.From.VMID]
	c := *src.Config
	c.Options = maps.Clone(c.Options)
	delete(c.Options, "template")
	c.Disks, c.NICs = slices.Clone(c.Disks), slices.Clone(c.NICs)
	for i := range c.Disks {
		if c.Disks[i].CDROM && !c.Disks[i].CloudInit {
			continue // the same medium
		}
		c.Disks[i].Volume = fmt.Sprintf("%s:%s/vm-%d-disk-%d", c.Disks[i].Storage, strings.TrimPrefix(c.Disks[i].Volume, c.Disks[i].Storage+":"), a.To.VMID, i)
	}
	for i := range c.NICs {
		c.NICs[i].MAC = fmt.Sprintf("BC:24:11:%02X:%02X:%02X", a.To.VMID>>8&255, a.To.VMID&255, i)
	}
	c.Options["name"] = a.Name
	c.Tags = slices.Clone(src.Tags)
	g := &model.Guest{VMID: a.To.VMID, Node: a.To.Node, Status: model.StatusStopped, Tags: c.Tags, Pool: a.Pool, Config: &c, Snapshots: []model.SnapshotInfo{}}
	w.describe(&c, a.Description)
	w.guests[g.VMID] = g
	w.derive(g)
}

func (w *world) create(a model.Create) {
	if w.guests[a.VMID] != nil {
		return
	}
	c := &model.Config{Options: maps.Clone(a.Options), Tags: slices.Clone(a.Tags)}
	if c.Options == nil {
		c.Options = map[string]string{}
	}
	c.Options["name"] = a.Name
	for _, d := range a.Disks {
		d.Disk.Volume = fmt.Sprintf("%s:vm-%d-%s", d.Storage, a.VMID, d.Slot)
		if d.Import != "" {
			d.Disk.Size = 2 << 30 // that of the image
		}
		c.Disks = append(c.Disks, d.Disk)
	}
	c.NICs = slices.Clone(a.NICs)
	w.describe(c, a.Description)
	g := &model.Guest{VMID: a.VMID, Node: a.Node, Status: model.StatusStopped, Tags: c.Tags, Pool: a.Pool, Config: c, Snapshots: []model.SnapshotInfo{}}
	w.guests[g.VMID] = g
	w.derive(g)
}

func (w *world) describe(c *model.Config, text string) {
	c.Marker = nil
	var m model.Marker
	var ok bool
	if c.Text, m, ok = model.ParseDescription(text); ok {
		c.Marker = &m
	}
}

// derive computes what the list of guests shows.
func (w *world) derive(g *model.Guest) {
	c := g.Config
	c.Digest = w.nextDigest()
	g.Name, g.Memory, g.CPUs = c.Options["name"], memoryOf(c.Options), max(1, cpusOf(c.Options))
	if d, ok := c.DiskAt(bootSlot(c)); ok {
		g.Disk = d.Size
	}
}

func (w *world) configure(a model.Configure) {
	g := w.guests[a.VMID]
	c := g.Config
	if a.Digest != c.Digest {
		return // Proxmox refuses
	}
	running := g.Status == model.StatusRunning
	probe := &change{g: g, have: c}
	pend := func(k string, v *string) {
		if running && !probe.hotplugs(k) {
			if c.Pending == nil {
				c.Pending = map[string]*string{}
			}
			c.Pending[k] = v
		}
	}
	for k, v := range a.Set {
		c.Options[k] = v
		pend(k, &v)
	}
	for _, k := range a.Delete {
		delete(c.Options, k)
		c.Disks = slices.DeleteFunc(c.Disks, func(d model.Disk) bool { return d.Slot == k })
		c.NICs = slices.DeleteFunc(c.NICs, func(n model.NIC) bool { return n.Slot == k })
	}
	for _, d := range a.Disks {
		if d.Volume == "" {
			d.Volume = fmt.Sprintf("%s:vm-%d-%s", d.Storage, a.VMID, d.Slot)
		}
		c.Disks = slices.DeleteFunc(c.Disks, func(o model.Disk) bool { return o.Slot == d.Slot })
		c.Disks = append(c.Disks, d.Disk)
	}
	for _, n := range a.NICs {
		if n.MAC == "" {
			n.MAC = fmt.Sprintf("BC:24:11:FF:%02X:%02X", a.VMID&255, len(c.NICs))
		}
		c.NICs = slices.DeleteFunc(c.NICs, func(o model.NIC) bool { return o.Slot == n.Slot })
		c.NICs = append(c.NICs, n)
	}
	if a.Tags != nil {
		c.Tags, g.Tags = *a.Tags, *a.Tags
	}
	if a.Description != nil {
		w.describe(c, *a.Description)
	}
	w.derive(g)
}
