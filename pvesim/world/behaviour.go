package world

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
	TaskLag     Duration `json:"taskLag,omitempty"`     // how much later than others one end in eight shows in the list of the cluster's tasks: the worker that began it is busy
	HARound     Duration `json:"haRound,omitempty"`     // until the HA manager takes up what it was told; Proxmox' round is 10s
	AuthDelay   Duration `json:"authDelay,omitempty"`   // before a 401; Proxmox waits 3s
	Recycle     int      `json:"recycle,omitempty"`     // requests after which a worker ends; Proxmox' do after 1000
}
