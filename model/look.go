package model

// Look lists what must be read before more can be planned.
type Look struct {
	Configs   []int // of these guests
	Snapshots []int
	Firewalls []int // of these guests
	Agents    []int // ask these guests for their addresses
	Status    []int // the present power states of these guests
	IDs       []int // whether these VMIDs are taken, including by invisible guests
	Ready     []int // ask these once for their addresses, to know whether they are up
	Files     bool  // the files on the storages
	Snippets  bool  // the snippets on the storages
	Dirs      bool  // the directory mappings
	HA        bool
	Firewall  bool     // what rules of firewalls may refer to
	Volumes   bool     // the disks on the storages
	Left      bool     // what tasks of ours have left
	Bridges   []string // of these nodes
	Storages  []string // of these nodes, at present
	Mappings  []string // of these kinds of devices
	URLs      []string // whether nodes can fetch these, see [URLKey]
	Rights    []string // privileges of these credentials on these paths
	Held      bool     // all privileges of these credentials
	Groups    []string // which guests of these rollout groups are unavailable elsewhere

	FirewallOff bool // whether the firewall of the cluster is off
}

// Empty reports whether nothing needs to be read.
func (l Look) Empty() bool {
	return len(l.Configs)+len(l.Snapshots)+len(l.Firewalls)+len(l.Agents)+len(l.Status)+len(l.IDs)+len(l.Ready)+len(l.Bridges)+len(l.Storages)+len(l.Mappings)+len(l.Rights)+len(l.URLs)+len(l.Groups) == 0 && !l.Files && !l.Snippets && !l.Dirs && !l.HA && !l.Firewall && !l.FirewallOff && !l.Volumes && !l.Left && !l.Held
}

// Add adds another look.
func (l *Look) Add(o Look) {
	l.Configs = append(l.Configs, o.Configs...)
	l.Snapshots = append(l.Snapshots, o.Snapshots...)
	l.Firewalls = append(l.Firewalls, o.Firewalls...)
	l.Agents = append(l.Agents, o.Agents...)
	l.Status = append(l.Status, o.Status...)
	l.IDs = append(l.IDs, o.IDs...)
	l.Ready = append(l.Ready, o.Ready...)
	l.Files = l.Files || o.Files
	l.Snippets = l.Snippets || o.Snippets
	l.Dirs = l.Dirs || o.Dirs
	l.HA = l.HA || o.HA
	l.Firewall = l.Firewall || o.Firewall
	l.FirewallOff = l.FirewallOff || o.FirewallOff
	l.Volumes = l.Volumes || o.Volumes
	l.Left = l.Left || o.Left
	l.Held = l.Held || o.Held
	l.Bridges = append(l.Bridges, o.Bridges...)
	l.Storages = append(l.Storages, o.Storages...)
	l.Mappings = append(l.Mappings, o.Mappings...)
	l.Rights = append(l.Rights, o.Rights...)
	l.URLs = append(l.URLs, o.URLs...)
	l.Groups = append(l.Groups, o.Groups...)
}
