package robustness

import (
	"fmt"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// Secrets that must be seen nowhere.
const (
	ourSecret    = "5e4c7a1f-0000-4000-8000-c0ffee000001"
	ourPassword  = "correct-horse-battery"
	theirSecret  = "5e4c7a1f-0000-4000-8000-c0ffee000002"
	guestSecret  = "guest-password-91"
	userDataText = "user-data-secret-77"
)

// world is where a history takes place, and what wishes can make use of.
type world struct {
	pvesim.World
	password bool // we log in with a password, not with a token
	wire     bool // over HTTP connections, not by calls
	nodes    []string
	disks    []string        // storages for disks, on every node
	isos     []string        // storages for ISO files
	shared   []string        // of both, those that all nodes share
	images   []string        // names of templates
	pinned   bool            // they are meant in a pool of their own
	agents   map[string]bool // templates with a guest agent
	// everywhere are templates that any node can make a machine of.
	everywhere map[string]bool
	// spread has templates copied to nodes that need them, and fetched is an image with a URL, whose disks go to a storage.
	spread                bool
	fetched, imageStorage string
	vmids                 model.Range
	// keys sign markers. Without them machines have no VMIDs but derived ones: others
	// aren't known as ours once nothing names them.
	keys  model.Keys
	sets  int  // how many sets of manifests there are
	crowd bool // many machines are wanted at once
	clock pvesim.AheadClock
}

func drawWorld(seed uint64) *world {
	d := newDice(seed, "world")
	w := &world{password: d.chance(0.25), wire: d.chance(0.05), agents: map[string]bool{}, everywhere: map[string]bool{}, sets: 1 + d.weighted(4, 1)}
	w.Release = pick(d, "9.2", "9.2", "8.4")
	w.Users = []pvesim.WorldUser{{ID: "root@pam", Password: ourPassword, Tokens: []pvesim.WorldToken{
		{Name: "us", Secret: ourSecret}, {Name: "people", Secret: theirSecret},
	}}}
	w.Pools = []pvesim.WorldPool{{ID: "team"}, {ID: "lab"}}
	w.DHCP = pvesim.WorldDHCP{Range: "10.7.0.1-10.7.20.250", Bits: 16}
	w.drawNodes(d)
	w.drawStorages(d)
	w.drawTemplates(d)
	w.drawTiming(d)
	w.vmids = model.Range{First: 5000, Last: 5000 + pick(d, 11, 29, 199)}
	if w.crowd = d.chance(0.03); w.crowd {
		w.vmids.Last = 5199
	}
	w.drawBystanders(d)
	if newDice(seed, "keys").chance(0.6) {
		w.keys = model.Keys{[]byte("correct-horse-battery-staple-key")}
	}
	w.clock = drawClock(newDice(seed, "clock"))
	return w
}

// manyCPUs are more than any machine asks for.
const manyCPUs = 16

func (w *world) drawNodes(d dice) {
	n := 1 + d.weighted(3, 3, 2, 1, 1)
	for i := range n {
		name := fmt.Sprintf("pve%d", i+1)
		w.nodes = append(w.nodes, name)
		w.Nodes = append(w.Nodes, pvesim.WorldNode{
			Name: name, CPUs: manyCPUs, Memory: pvesim.Size(pick(d, 64, 128)) << 30,
			Bridges: []pvesim.WorldBridge{{Name: "vmbr0"}, {Name: "vmbr1"}},
		})
	}
	if n > 1 || d.chance(0.5) {
		w.Cluster = "lab"
	}
}

// drawCPUs gives some nodes of some worlds fewer CPUs than machines ask for.
func (w *world) drawCPUs(d dice) {
	if w.crowd || !d.chance(0.12) {
		return
	}
	for i := range w.Nodes {
		w.Nodes[i].CPUs = pick(d, 1, 2, 3, 8, 64)
	}
}

func (w *world) drawStorages(d dice) {
	add := func(s pvesim.WorldStorage, disks, iso, shared bool) {
		w.Storages = append(w.Storages, s)
		if disks {
			w.disks = append(w.disks, s.Name)
		}
		if iso {
			w.isos = append(w.isos, s.Name)
		}
		if shared {
			w.shared = append(w.shared, s.Name)
		}
	}
	add(pvesim.WorldStorage{
		Name: "local", Type: "dir", Path: "/var/lib/vz", Size: 600 << 30, Content: []string{"images", "iso", "import", "snippets"},
	}, true, true, false)
	add(pvesim.WorldStorage{
		Name: backups, Type: "nfs", Path: "/mnt/pve/backups", Size: 4 << 40, Content: []string{"backup"},
		Options: map[string]string{"server": "10.0.0.9", "export": "/backups"},
	}, false, false, false)
	if d.chance(0.7) {
		add(pvesim.WorldStorage{
			Name: "lvm", Type: "lvmthin", Size: 800 << 30, Content: []string{"images"}, Options: map[string]string{"vgname": "pve", "thinpool": "data"},
		}, true, false, false)
	}
	if d.chance(0.65) {
		add(pvesim.WorldStorage{
			Name: "nfs", Type: "nfs", Path: "/mnt/pve/nfs", Size: 4 << 40, Content: []string{"images", "iso", "import"},
			Options: map[string]string{"server": "10.0.0.9", "export": "/x"},
		}, true, true, true)
	}
}

// drawTemplates makes one or two images: on a shared storage once, on a local
// one on each node or on one node only.
func (w *world) drawTemplates(d dice) {
	names := []string{"small", "large"}[:d.number(1, 2)]
	for i, name := range names {
		w.images = append(w.images, name)
		storage := pick(d, w.disks...)
		gib := pick(d, 4, 8)
		nodes := w.nodes
		switch {
		case storage == "nfs":
			nodes = []string{pick(d, w.nodes...)}
		case i > 0 && d.chance(0.3):
			nodes = []string{pick(d, w.nodes...)}
		}
		system := pick(d, pvesim.WithAgent, pvesim.WithAgent, pvesim.WithAgent, pvesim.WithoutAgent)
		w.agents[name] = system == pvesim.WithAgent
		w.everywhere[name] = storage == "nfs" || len(nodes) == len(w.nodes)
		drive := d.chance(0.6)
		tags := d.chance(0.3)
		for n, node := range nodes {
			conf := map[string]string{
				"name": name, "ostype": "l26", "cores": "1", "memory": "1024", "agent": "enabled=1", "scsihw": "virtio-scsi-pci",
				"scsi0": fmt.Sprintf("%s:%d", storage, gib), "net0": "virtio,bridge=vmbr0", "boot": "order=scsi0", "serial0": "socket",
			}
			if storage != "lvm" {
				conf["scsi0"] += ",format=qcow2"
			}
			if drive {
				conf["ide2"] = storage + ":cloudinit"
			}
			if tags {
				conf["tags"] = "golden"
			}
			w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 9000 + 100*i + n, Node: node, Template: true, System: system, Config: conf})
		}
	}
}

func (w *world) drawTiming(d dice) {
	scale := pick(d, 0.5, 1, 1, 3)
	t := func(d time.Duration) pvesim.Duration { return pvesim.Duration(float64(d) * scale) }
	w.Timing = pvesim.Timing{
		Request: t(5 * time.Millisecond), Task: t(20 * time.Millisecond), Config: t(150 * time.Millisecond), Create: t(500 * time.Millisecond),
		Alloc: t(200 * time.Millisecond), Clone: t(1500 * time.Millisecond), Link: t(300 * time.Millisecond), ClonePerGiB: t(400 * time.Millisecond), Resize: t(300 * time.Millisecond),
		Snapshot: t(700 * time.Millisecond), SnapshotPerGiB: t(300 * time.Millisecond), Start: t(time.Second), Stop: t(300 * time.Millisecond),
		Shutdown: t(2 * time.Second), Boot: t(3 * time.Second), Agent: t(5 * time.Second), Migrate: t(2 * time.Second),
		MigratePerGiB: t(300 * time.Millisecond), Destroy: t(600 * time.Millisecond), Template: t(3 * time.Second),
	}
	w.Locks = pvesim.Locks{Storage: pick(d, 1, 1, 4)}
	w.Load = pvesim.Load{
		Workers: 3, AgentWait: pvesim.Duration(3 * time.Second), StatusRound: pvesim.Duration(10 * time.Second), TaskLag: pvesim.Duration(2 * time.Second),
		AuthDelay: pvesim.Duration(3 * time.Second), Recycle: pick(d, 40, 200, 1000),
	}
}

// drawBystanders puts machines of other people into our range of VMIDs.
func (w *world) drawBystanders(d dice) {
	for i := range d.number(1, 4) {
		conf := map[string]string{
			"name": pick(d, "db", "vm-a", "vm-b", "mail"), "cores": "1", "memory": "1024", "scsi0": pick(d, w.disks...) + ":2",
			"net0": "virtio,bridge=vmbr0", "boot": "order=scsi0",
		}
		if d.chance(0.3) {
			conf["tags"] = model.Tag // anybody may use it
		}
		if d.chance(0.3) {
			conf["description"] = "not yours"
		}
		w.Guests = append(w.Guests, pvesim.WorldGuest{
			ID: w.vmids.First + i*3 + d.IntN(3), Node: pick(d, w.nodes...), Running: d.chance(0.5), Config: conf,
		})
	}
}
