package pvesim

// World says what a simulator starts with and how it behaves.
type World struct {
	Release  string         `json:"release,omitempty"` // "9.2" (default) or "8.4"
	Cluster  string         `json:"cluster,omitempty"` // name; empty: one node without a cluster
	Entry    string         `json:"entry,omitempty"`   // the node that clients talk to; default: the first
	Nodes    []WorldNode    `json:"nodes,omitempty"`
	Storages []WorldStorage `json:"storages,omitempty"`
	Users    []WorldUser    `json:"users,omitempty"`
	Roles    []WorldRole    `json:"roles,omitempty"`
	ACL      []WorldACL     `json:"acl,omitempty"`
	Pools    []WorldPool    `json:"pools,omitempty"`
	Guests   []WorldGuest   `json:"guests,omitempty"`
	Dirs     []string       `json:"dirs,omitempty"` // directories that exist on the hosts
	Systems  []WorldSystem  `json:"systems,omitempty"`
	// Kernels are booted by guests whose disks hold the system of that name:
	// with real machines, disks need no boot loader then.
	Kernels map[System]Kernel `json:"kernels,omitempty"`
	DHCP    WorldDHCP         `json:"dhcp,omitempty"`
	Timing  Timing            `json:"timing,omitempty"`
	Locks   Locks             `json:"locks,omitempty"`
	Load    Load              `json:"load,omitempty"`
	Faults  []Fault           `json:"faults,omitempty"`
}

// WorldNode is a host.
type WorldNode struct {
	Name    string        `json:"name"`
	IP      string        `json:"ip,omitempty"`
	State   NodeState     `json:"state,omitempty"`
	CPUs    int           `json:"cpus,omitempty"`
	Memory  Size          `json:"memory,omitempty"`
	NICs    []string      `json:"nics,omitempty"` // physical network cards
	Bonds   []WorldBond   `json:"bonds,omitempty"`
	Bridges []WorldBridge `json:"bridges,omitempty"`
}

// WorldBond is a bond of network cards.
type WorldBond struct {
	Name   string   `json:"name"` // bond0
	Slaves []string `json:"slaves"`
	Mode   string   `json:"mode,omitempty"` // default: balance-rr
}

// WorldBridge is a bridge of a node.
type WorldBridge struct {
	Name  string   `json:"name"`
	CIDR  string   `json:"cidr,omitempty"`
	Ports []string `json:"ports,omitempty"` // network cards and bonds
}

// WorldStorage is an entry of storage.cfg, with what is on it at the start.
type WorldStorage struct {
	Name    string            `json:"name"`
	Type    string            `json:"type"`
	Path    string            `json:"path,omitempty"`
	Content []string          `json:"content,omitempty"`
	Shared  bool              `json:"shared,omitempty"`
	Nodes   []string          `json:"nodes,omitempty"`
	Size    Size              `json:"size,omitempty"`
	Used    Size              `json:"used,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	Volumes []WorldVolume     `json:"volumes,omitempty"`
}

// WorldVolume is a file on a storage: an ISO, an image, a snippet.
type WorldVolume struct {
	Name   string   `json:"name"` // "iso/tiny.iso", "snippets/hook.sh"
	Size   Size     `json:"size,omitempty"`
	Text   string   `json:"text,omitempty"`   // its bytes, for small files
	File   string   `json:"file,omitempty"`   // file of this host with its bytes
	System System   `json:"system,omitempty"` // what an image holds; default: one with a guest agent
	Nodes  []string `json:"nodes,omitempty"`  // where it is; default: everywhere
	After  Duration `json:"after,omitempty"`  // it appears that long after the start
}

// WorldUser is a user with its tokens.
type WorldUser struct {
	ID       string       `json:"id"`
	Password string       `json:"password,omitempty"`
	Tokens   []WorldToken `json:"tokens,omitempty"`
	SSHKeys  []string     `json:"sshKeys,omitempty"` // lines of authorized_keys, for users of the realm pam
}

// WorldToken is an API token.
type WorldToken struct {
	Name    string `json:"name"`
	Secret  string `json:"secret"`
	PrivSep bool   `json:"privsep,omitempty"`
}

// WorldRole is a role made by people.
type WorldRole struct {
	Name  string   `json:"name"`
	Privs []string `json:"privs"`
}

// WorldACL grants a role.
type WorldACL struct {
	Path      string `json:"path"`
	Role      string `json:"role"`
	User      string `json:"user,omitempty"`
	Token     string `json:"token,omitempty"`
	Propagate *bool  `json:"propagate,omitempty"` // default true
}

// WorldPool is a resource pool.
type WorldPool struct {
	ID      string `json:"id"`
	Comment string `json:"comment,omitempty"`
}

// WorldGuest is a VM that is there from the start.
type WorldGuest struct {
	ID       int               `json:"id"`
	Node     string            `json:"node"`
	Config   map[string]string `json:"config,omitempty"` // disks as "storage:GiB" are allocated
	Template bool              `json:"template,omitempty"`
	Running  bool              `json:"running,omitempty"`
	Pool     string            `json:"pool,omitempty"`
	System   System            `json:"system,omitempty"` // what its disks hold; default: one with a guest agent
	// Count makes that many, with rising IDs; "%d" in the name is the number.
	Count int `json:"count,omitempty"`
}

// WorldSystem puts an operating system onto the disks of a VM, whoever makes
// it: without this, disks that weren't copied from an image are blank.
type WorldSystem struct {
	VMID   int    `json:"vmid"`
	System System `json:"system"`
}

// WorldDHCP is where guests without a static address get theirs.
type WorldDHCP struct {
	Range string `json:"range,omitempty"` // "192.168.77.50-192.168.77.250"
	Bits  int    `json:"bits,omitempty"`  // of the network
}

// Timing says how long things take. Zero is no time at all.
type Timing struct {
	Request        Duration `json:"request,omitempty"`
	Task           Duration `json:"task,omitempty"` // any task, before it does anything
	Config         Duration `json:"config,omitempty"`
	Create         Duration `json:"create,omitempty"`
	Alloc          Duration `json:"alloc,omitempty"`       // making, cloning or removing a volume, with the lock of its storage held
	Clone          Duration `json:"clone,omitempty"`       // any clone
	Link           Duration `json:"link,omitempty"`        // a linked clone of a disk, with the lock of its storage held
	ClonePerGiB    Duration `json:"clonePerGiB,omitempty"` // full copies, moves, imports
	Resize         Duration `json:"resize,omitempty"`
	Snapshot       Duration `json:"snapshot,omitempty"`
	SnapshotPerGiB Duration `json:"snapshotPerGiB,omitempty"` // of memory saved
	Start          Duration `json:"start,omitempty"`
	Stop           Duration `json:"stop,omitempty"`
	Shutdown       Duration `json:"shutdown,omitempty"` // of a guest that does as it's told
	Boot           Duration `json:"boot,omitempty"`     // until the system inside is up
	Agent          Duration `json:"agent,omitempty"`    // until the guest agent answers, from the start
	Migrate        Duration `json:"migrate,omitempty"`
	MigratePerGiB  Duration `json:"migratePerGiB,omitempty"`
	Destroy        Duration `json:"destroy,omitempty"`
	Template       Duration `json:"template,omitempty"`
	Download       Duration `json:"download,omitempty"`
}

// Locks says how many may hold a lock at once.
type Locks struct {
	Storage int `json:"storage,omitempty"` // operations at once on a storage; 0: any number
}

// Load makes the daemons as slow as they are. All off: infinitely many
// workers, and figures that are always fresh.
type Load struct {
	Workers     int      `json:"workers,omitempty"`     // of each daemon of each node; Proxmox has 3
	AgentWait   Duration `json:"agentWait,omitempty"`   // how long a call waits for an agent that is down; Proxmox waits 3s
	StatusRound Duration `json:"statusRound,omitempty"` // how old figures may be; Proxmox' round is 10s
	HARound     Duration `json:"haRound,omitempty"`     // until the HA manager takes up what it was told; Proxmox' round is 10s
	AuthDelay   Duration `json:"authDelay,omitempty"`   // before a 401; Proxmox waits 3s
	Recycle     int      `json:"recycle,omitempty"`     // requests after which a worker ends; Proxmox' do after 1000
}
