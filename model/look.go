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
	Disks     []string // the disks on the storages of these nodes; "": on those that nodes share
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

// A LookPart is one part of a look: what it is called, and where it is.
type LookPart[T any] struct {
	Name string
	At   *T
}

// Guests returns the parts that are about single guests, or VMIDs.
func (l *Look) Guests() []LookPart[[]int] {
	return []LookPart[[]int]{{"configs", &l.Configs}, {"snapshots", &l.Snapshots}, {"firewalls", &l.Firewalls}, {"agents", &l.Agents},
		{"status", &l.Status}, {"ready", &l.Ready}, {"IDs", &l.IDs}}
}

// Wholes returns the parts that are one thing for the whole cluster.
func (l *Look) Wholes() []LookPart[bool] {
	return []LookPart[bool]{{"files", &l.Files}, {"left", &l.Left}, {"snippets", &l.Snippets}, {"shares", &l.Dirs}, {"HA", &l.HA},
		{"firewall", &l.Firewall}, {"switch of the firewall", &l.FirewallOff}, {"volumes", &l.Volumes}, {"privileges", &l.Held}}
}

// Names returns the parts that are about something by its name: nodes, kinds, paths.
func (l *Look) Names() []LookPart[[]string] {
	return []LookPart[[]string]{{"bridges", &l.Bridges}, {"storages", &l.Storages}, {"mappings", &l.Mappings}, {"rights", &l.Rights}, {"disks", &l.Disks},
		{"URLs", &l.URLs}, {"groups", &l.Groups}}
}

// Empty reports whether nothing needs to be read.
func (l Look) Empty() bool {
	for _, p := range l.Guests() {
		if len(*p.At) > 0 {
			return false
		}
	}
	for _, p := range l.Wholes() {
		if *p.At {
			return false
		}
	}
	for _, p := range l.Names() {
		if len(*p.At) > 0 {
			return false
		}
	}
	return true
}

// Add adds another look.
func (l *Look) Add(o Look) {
	guests, wholes, names := o.Guests(), o.Wholes(), o.Names()
	for i, p := range l.Guests() {
		*p.At = append(*p.At, *guests[i].At...)
	}
	for i, p := range l.Wholes() {
		*p.At = *p.At || *wholes[i].At
	}
	for i, p := range l.Names() {
		*p.At = append(*p.At, *names[i].At...)
	}
}
