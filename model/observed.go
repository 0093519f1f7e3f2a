package model

import (
	"cmp"
	"net/netip"
	"strings"
	"time"
)

// Observed is the observed state of a Proxmox cluster, as far as it was read.
type Observed struct {
	At      time.Time
	Listed  time.Time // when the lists were requested
	Release int       // major version
	Minor   int
	// Root means that we are root@pam, logged in with its password: only root@pam may set some
	// options.
	Root bool
	// Keyed means that we have a key to sign markers with.
	Keyed    bool
	Nodes    map[string]*Node
	Storages map[string]*Storage
	Guests   map[int]*Guest // all of the cluster
	Tasks    []Task         // that run
	// Files are volumes that aren't disks: ISO and import images, by volume
	// id; nil: not read.
	Files map[string]File
	// Volumes are the disks on the storages; nil: not read.
	Volumes Volumes
	// Disks are the same on the storages of the nodes that were asked, and under "" on those that nodes share; while Volumes
	// isn't read.
	Disks map[string]Volumes
	// Snippets are the snippets on storages; nil: not read.
	Snippets map[string]File
	// Dirs are the directory mappings, by name; nil: not read. There are none
	// before 8.4.
	Dirs map[string]Dir
	HA   map[string]map[string]string // by "vm:100"; nil: not read
	// Rules are the HA rules, each with its resources ("vm:100"); nil: not read. There are
	// none before 9.
	Rules map[string][]string
	// HAGroups are the names of HA groups, or of rules from 9 on; nil: not read.
	HAGroups map[string]bool
	// HALimits are the nodes of HA groups, or of rules from 9 on; read together with HAGroups.
	HALimits map[string]HALimit
	// Pools are the pools that are visible to these credentials; nil: not read.
	Pools map[string]bool
	// Bridges are the bridges of each node that was asked; nil: the node doesn't report
	// them.
	Bridges map[string]map[string]bool
	// Hosts are what bridges of nodes have themselves, by node and bridge. It is read with Bridges.
	Hosts map[string]map[string]BridgeHost
	// Mappings are the device mappings, by kind ("pci"), of each kind that was read; nil: Proxmox
	// doesn't report them.
	Mappings map[string]map[string]bool
	// Devices are the devices of mappings, by kind and name ("pci/gpu"); nil, or not in it:
	// Proxmox doesn't report them.
	Devices map[string]Devices
	// Firewall is what rules of guests may refer to; nil: not read.
	Firewall *ClusterFirewall
	// FirewallOff is true if the firewall of the cluster is known to be off, and with it those of all
	// guests; nil: not read.
	FirewallOff *bool
	// URLs has what a node reported about a file on the Internet, by node and URL (see [URLKey]).
	URLs map[string]URLState
	// Rights are the privileges of these credentials, on each path that was read; nil on a path: Proxmox doesn't
	// report them.
	Rights map[string]map[string]bool
	// Held are all privileges of these credentials; nil: not read.
	Held *Held
	// IDs says whether VMIDs that no list shows are taken by a guest that isn't visible to our
	// credentials. VMIDs that aren't in it weren't checked; nil: no check is needed.
	IDs map[int]bool
	// Placed are guests that we are creating and that lists don't show yet.
	Placed map[int]Placement
	// Begun are guests that Proxmox was creating when they were last read, of objects that haven't been ready
	// since.
	Begun map[Owner]Begun
	// Coming are requests that would create something, whose answers were lost, and that
	// Proxmox may still carry out, by object.
	Coming map[Owner]string
	// Kept are the addresses of guests that we are replacing, until the new ones have them.
	Kept map[Owner][]netip.Addr
	// Bound are the placements of guests that wait for their image.
	Bound map[Key]Bound
	// Ignored are the objects whose guests recently ignored a shutdown.
	Ignored map[Key]bool
	// Rolling are guests that we are restarting or replacing, until they are ready again.
	Rolling map[Key]bool
	// Elsewhere has the rollout groups with guests of other sessions.
	Elsewhere map[string]Elsewhere
	// Left are disks that tasks of ours have left.
	Left []Left
	// Unclean means that tasks of ours have ended with an error or a warning, and that their
	// logs weren't read yet for disks that they have left.
	Unclean bool
	// Failed are the steps that failed lately.
	Failed map[Key]Failure

	index *guestIndex
}

// May reports whether these credentials have a privilege on a path, as far as that is
// known.
func (o *Observed) May(path, priv string) bool {
	held := o.Rights[path]
	return len(held) == 0 || held[priv]
}

// Held is what credentials may do, on every path of Proxmox' access tree where something was granted to anybody.
// What is granted on a path may also hold below it.
type Held struct {
	// Paths has, by path and privilege, whether it also holds below; nil: Proxmox doesn't say. Paths without any privilege
	// aren't in it.
	Paths map[string]map[string]bool
	At    time.Time // when it was read
}

// Node is a host.
type Node struct {
	Name   string
	Online bool
	CPUs   int
	Memory int64 // bytes
	Used   int64
	// Maintenance means that the HA manager has the node in maintenance: it takes guests away from
	// there and brings none.
	Maintenance bool
}

// BridgeHost is what a Proxmox node itself has on one of its bridges.
type BridgeHost struct {
	Address  string `json:"address,omitempty"` // with the length of the prefix: 192.168.1.2/24
	Address6 string `json:"address6,omitempty"`
	Gateway  string `json:"gateway,omitempty"`
	Gateway6 string `json:"gateway6,omitempty"`
	MTU      int    `json:"mtu,omitempty"`
}

// HALimit is an HA group or rule: the nodes for guests, or that guests are kept apart.
type HALimit struct {
	Nodes  map[string]int // priority of each node: higher is preferred
	Strict bool           // only these nodes are allowed
	Apart  bool           // it keeps guests apart, and names no nodes
}

// Storage is a storage with the room it has on each node.
type Storage struct {
	Name    string
	Type    string
	Shared  bool
	Content map[string]bool
	OnNode  map[string]Room
	Late    map[string]bool // nodes for which the list has no status of the storage yet
}

// Devices are the devices of a mapping.
type Devices struct {
	On   map[string][]string // addresses by node ("0000:01:00.0"): a guest gets one of them
	Live bool                // guests with such a device can be migrated live
}

// Room is the space of a storage on a node.
type Room struct{ Total, Used int64 }

// Free returns the free space.
func (r Room) Free() int64 { return max(0, r.Total-r.Used) }

// Blocks reports whether the storage keeps disks as block devices, which have
// no format but raw.
func (s *Storage) Blocks() bool {
	switch s.Type {
	case "lvm", "lvmthin", "zfspool", "rbd", "iscsi", "iscsidirect", "zfs":
		return true
	}
	return false
}

// Bases reports whether the storage can have base volumes of templates for linked clones.
func (s *Storage) Bases() bool {
	switch s.Type {
	case "lvm", "iscsi", "iscsidirect":
		return false
	}
	return true
}

// CompareFor orders storages by preference for a disk on a node, if none is requested:
// shared ones first, since all nodes reach them, then the one with the most free space.
func (s *Storage) CompareFor(node string, o *Storage) int {
	shared := 0
	switch {
	case s.Shared && !o.Shared:
		shared = -1
	case o.Shared && !s.Shared:
		shared = 1
	}
	return cmp.Or(shared, cmp.Compare(o.OnNode[node].Free(), s.OnNode[node].Free()), CompareNames(s.Name, o.Name))
}

// Task is a task of Proxmox.
type Task struct {
	UPID  string
	Node  string
	Type  string // "qmclone"
	ID    string // the ID that it is filed under
	VMID  int    // the same as a number; clones are filed under the source
	Since time.Time
	Ended time.Time // zero: it is running
	Exit  string    // how it ended
}

// File is an ISO, an import image, a snippet.
type File struct {
	Volume  string   // "nfs:iso/seed.iso"
	Node    string   // the node that has it
	Also    []string // further nodes that have a file of the same name, on local storages
	Content string
	Size    int64
}

// Dir is a directory mapping: a name for directories of the nodes.
type Dir struct {
	Made   bool              // proxplane made it
	Maker  string            // its owner, see [ShareMaker]
	Paths  map[string]string // by node
	Bad    map[string]string // what is wrong with it, by node
	Digest string            // of all of them
}

// Is reports whether the mapping has the same directory on all its nodes.
func (d Dir) Is(path string) bool {
	for _, p := range d.Paths {
		if p != path {
			return false
		}
	}
	return true
}

// ShareNote returns the description of mappings that proxplane makes, with their owner. Whoever
// changes it takes the mapping over.
func ShareNote(maker string) string { return shareNote + maker }

const shareNote = "Made by proxplane, which removes it when no machine uses it. Owner: "

// ParseShareNote parses the owner of a mapping; false: proxplane didn't make it.
func ParseShareNote(description string) (maker string, ok bool) {
	maker, ok = strings.CutPrefix(strings.TrimSpace(description), shareNote)
	return maker, ok && maker != ""
}

// ShareMaker returns the owner of the directory mappings of a guest: its set, in Kubernetes its
// namespace. Others use them as they are.
func ShareMaker(o Owner) string {
	if o.UID != "" {
		return o.Set + "/" + o.Namespace
	}
	return o.Set
}

// AtLeast reports whether the cluster has that release of Proxmox VE or a later
// one.
func (o *Observed) AtLeast(major, minor int) bool {
	return o.Release > major || o.Release == major && o.Minor >= minor
}

// Bound is the placement of a guest that waits for its image.
type Bound struct {
	Node     string // node of the guest
	Template Key    // the template that it waits for; see [Image.Object]
}

// Begun is a guest that Proxmox was creating when it was last read.
type Begun struct {
	VMID int
	Task string
}

// Placement is the node of a guest that is being created.
type Placement struct {
	Owner  Owner
	Node   string
	Memory int64
	Begun  bool // Proxmox is working on it: no other guest gets the VMID
	// Space is the size of its disks, by storage.
	Space map[string]int64
	// Addresses are its addresses from pools.
	Addresses []netip.Addr
	// Devices are its options with PCI devices of the node.
	Devices map[string]string
}

// Lack are privileges that are missing on a path.
type Lack struct {
	Path  string
	Privs []string
	Any   bool // one of them is enough
}

// Failure is a failed step, or a failed look.
type Failure struct {
	What string // the step
	Text string // what Proxmox said
	// Unread says that no step was tried, since something couldn't be read.
	Unread bool
	// Guest is the guest whose facts couldn't be read; 0: it was a step, or a fact of no single
	// guest.
	Guest int
	Hint  Advice
	// Lacks are the missing privileges that caused the failure.
	Lacks *Lack
	At    time.Time
	Next  time.Time // earliest time of a retry
	Hard  bool      // a retry can't help until something is changed
	Full  bool      // there was no room
	Lost  bool      // it may have been done: no retry before a later list was read
}

// Again reports whether the step may be retried, by what is known now.
func (f Failure) Again(have *Observed) bool {
	return !f.Hard && !have.At.Before(f.Next) && (!f.Lost || have.Listed.After(f.At))
}

// StorageOf returns the storage of a volume id.
func StorageOf(volume string) string {
	name, _, _ := strings.Cut(volume, ":")
	return name
}
