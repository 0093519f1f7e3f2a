package model

import (
	"cmp"
	"net/netip"
	"strings"
	"time"
)

// Observed is what a Proxmox cluster has, as far as it was looked at.
type Observed struct {
	At      time.Time
	Listed  time.Time // when the lists were asked for
	Release int       // major version
	Minor   int
	// Root means that we are root@pam, logged in with its password: some options
	// nobody else may set.
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
	// Snippets are the same of snippets; nil: not read.
	Snippets map[string]File
	// Dirs are the directory mappings, by name; nil: not read. There are none
	// before 8.4.
	Dirs map[string]Dir
	HA   map[string]map[string]string // by "vm:100"; nil: not read
	// Rules are the HA rules, each with the guests it is about ("vm:100"); nil: not
	// read. There are none before 9.
	Rules map[string][]string
	// HAGroups are the names of HA groups, or of rules from 9 on; nil: not read.
	HAGroups map[string]bool
	// HALimits are the nodes that HA groups, or rules from 9 on, are about; read as HAGroups are.
	HALimits map[string]HALimit
	// Pools are those that these credentials see; nil: not read.
	Pools map[string]bool
	// Bridges are those of each node that was asked; nil: it doesn't say.
	Bridges map[string]map[string]bool
	// Mappings are those of devices, by kind ("pci"), of each kind that was asked for; nil: Proxmox
	// doesn't say.
	Mappings map[string]map[string]bool
	// Devices are those that mappings stand for, by kind and name ("pci/gpu"); nil, or
	// not in it: Proxmox doesn't say.
	Devices map[string]Devices
	// Firewall is what rules of guests may refer to; nil: not read.
	Firewall *ClusterFirewall
	// FirewallOff is true if the firewall of the cluster is known to be off, and with it those of all
	// guests; nil: not read.
	FirewallOff *bool
	// URLs has, by node and URL (see [URLKey]), what a node said about a file on the Internet.
	URLs map[string]URLState
	// Rights are the privileges that these credentials have, on each path that was asked for.
	Rights map[string]map[string]bool
	// IDs has, of VMIDs that no list shows, whether they are taken all the same, by a
	// guest that our credentials don't let us see. Those that aren't in it weren't asked
	// about; nil: nobody needs to ask.
	IDs map[int]bool
	// Placed are guests that we are making and that don't show up yet.
	Placed map[int]Placement
	// Begun are the guests that Proxmox was making when we stopped to look, of objects that weren't ready since.
	Begun map[Owner]Begun
	// Coming are requests of objects that would make something, whose answers were lost, and
	// which Proxmox may still carry out.
	Coming map[Owner]string
	// Kept are the addresses of guests that we are replacing, until the new ones have them.
	Kept map[Owner][]netip.Addr
	// Bound are the choices of guests that wait for their image.
	Bound map[Key]Bound
	// Ignored are the objects whose guests didn't shut down when they were asked to lately.
	Ignored map[Key]bool
	// Rolling are the guests that we are restarting or replacing, until they are
	// ready again.
	Rolling map[Key]bool
	// Elsewhere has the rollout groups with guests that others look after.
	Elsewhere map[string]Elsewhere
	// Left are disks that tasks of ours have left.
	Left []Left
	// Unclean means that tasks of ours have ended otherwise than well, and that nobody has read
	// yet whether they have left disks.
	Unclean bool
	// Failed are the steps that failed lately.
	Failed map[Key]Failure

	index *guestIndex
}

// May reports whether these credentials have a privilege on a path, as far as that could be
// read.
func (o *Observed) May(path, priv string) bool {
	held := o.Rights[path]
	return len(held) == 0 || held[priv]
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

// HALimit is where the HA manager has guests, or which of them it keeps apart.
type HALimit struct {
	Nodes  map[string]int // by name: the higher, the better
	Strict bool           // and nowhere else
	Apart  bool           // it keeps guests apart, and names no nodes
}

// Storage is a storage with the room it has on each node.
type Storage struct {
	Name    string
	Type    string
	Shared  bool
	Content map[string]bool
	OnNode  map[string]Room
	Late    map[string]bool // nodes of which the list doesn't know yet whether they have it
}

// Devices are what a mapping stands for.
type Devices struct {
	On   map[string][]string // by node, where they are ("0000:01:00.0"): a guest gets one of them
	Live bool                // guests that have one can be migrated while they run
}

// Room is the space of a storage on a node.
type Room struct{ Total, Used int64 }

// Free is what is left.
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

// Bases reports whether disks on the storage can be those of templates, which linked clones hang
// on.
func (s *Storage) Bases() bool {
	switch s.Type {
	case "lvm", "iscsi", "iscsidirect":
		return false
	}
	return true
}

// CompareFor orders storages by where a disk on a node had better go when nobody says
// it: on a shared one, since all nodes reach what is there, else on the one with the most
// room.
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
	ID    string // what it is filed under
	VMID  int    // the same as a number; clones are filed under the source
	Since time.Time
	Ended time.Time // zero: it runs
	Exit  string    // how it ended
}

// File is an ISO, an import image, a snippet.
type File struct {
	Volume  string   // "nfs:iso/seed.iso"
	Node    string   // that has it
	Also    []string // further nodes that have one of the same name, on storages of their own
	Content string
	Size    int64
}

// Dir is a directory mapping: a name for directories of the nodes.
type Dir struct {
	Made   bool              // proxplane made it
	Maker  string            // for whom, see [ShareMaker]
	Paths  map[string]string // by node
	Bad    map[string]string // what is wrong with it, by node
	Digest string            // of all of them
}

// Is reports whether the mapping is of one directory, wherever it has one.
func (d Dir) Is(path string) bool {
	for _, p := range d.Paths {
		if p != path {
			return false
		}
	}
	return true
}

// ShareNote is the description of mappings that proxplane makes, with whose they are.
// Whoever changes it takes the mapping over.
func ShareNote(maker string) string { return shareNote + maker }

const shareNote = "Made by proxplane, which removes it when no machine uses it. Owner: "

// ParseShareNote finds whose a mapping is; false: proxplane didn't make it.
func ParseShareNote(description string) (maker string, ok bool) {
	maker, ok = strings.CutPrefix(strings.TrimSpace(description), shareNote)
	return maker, ok && maker != ""
}

// ShareMaker is who makes the directory mappings of a guest: its set, in Kubernetes its
// namespace there. Others use them as they are.
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

// Bound is what a guest waits for that was placed before its image is there.
type Bound struct {
	Node     string // where it is placed
	Template Key    // the template of its image that is made first; see [Image.Object]
}

// Begun is a guest that Proxmox is making, or was when we last looked.
type Begun struct {
	VMID int
	Task string
}

// Placement is where a guest is being made.
type Placement struct {
	Owner  Owner
	Node   string
	Memory int64
	Begun  bool // Proxmox is at it: nobody else gets the VMID
	// Space is how large its disks are, by storage.
	Space map[string]int64
	// Addresses are those that it gets from pools.
	Addresses []netip.Addr
	// Devices are the options by which it gets PCI devices of the node.
	Devices map[string]string
}

// Lack is privileges that are missing on a path.
type Lack struct {
	Path  string
	Privs []string
	Any   bool // one of them is enough
}

// Failure is how a step failed, or a look.
type Failure struct {
	What string // the step
	Text string // what Proxmox said
	// Unread reports that nothing was tried: something couldn't be read.
	Unread bool
	// Guest is whose facts couldn't be read; 0: it was a step, or no fact of one guest.
	Guest int
	Hint  Advice
	// Lacks are the privileges because of whose absence it failed.
	Lacks *Lack
	At    time.Time
	Next  time.Time // not before then again
	Hard  bool      // trying again can't help until something is changed
	Full  bool      // for want of room
	Lost  bool      // it may have been done: not again before a list was asked for since
}

// Again reports whether it may be tried again, by what is known now.
func (f Failure) Again(have *Observed) bool {
	return !f.Hard && !have.At.Before(f.Next) && (!f.Lost || have.Listed.After(f.At))
}

// StorageOf is the storage part of a volume id.
func StorageOf(volume string) string {
	name, _, _ := strings.Cut(volume, ":")
	return name
}
