package model

import (
	"fmt"
	"time"
)

// Action is one Proxmox call that changes something, or that reaches into a guest. The set is
// closed: action_kinds.go lists all that there are.
type Action interface {
	// Guest is the VMID that the action is about; 0: none.
	Guest() int
	action()
}

// Target is a guest on a node.
type Target struct {
	VMID int
	Node string
}

// Guest is the target's VMID.
func (t Target) Guest() int { return t.VMID }

func (t Target) String() string { return fmt.Sprintf("%d on %s", t.VMID, t.Node) }

// Clone copies a guest or template.
type Clone struct {
	From        Target
	Snapshot    string
	To          Target // its node may differ when the storage is shared
	Name        string
	Description string // with the marker: the copy is known as ours from its first moment
	Full        bool
	Storage     string // of a full copy
	Format      string // of a full copy's disks, where these are files
	Pool        string
}

// Create makes a guest that isn't a copy.
type Create struct {
	Target
	Name        string
	Description string
	Options     map[string]string
	Disks       []NewDisk
	NICs        []NIC
	Tags        []string
	Pool        string
}

// NewDisk is a disk that is made: empty, or from an image file.
type NewDisk struct {
	Disk
	Import string // volume id of an image
}

// Configure changes a guest's configuration, if it is still as it was seen.
type Configure struct {
	Target
	Digest      string
	Set         map[string]string // plain options
	Delete      []string          // options and slots
	Disks       []NewDisk         // added, or with other options (Volume is set)
	NICs        []NIC
	Tags        *[]string
	Description *string // with the marker
	// Slow asks for a task, for changes that make disks.
	Slow bool
}

// Resize grows a disk to a size.
type Resize struct {
	Target
	Slot string
	Size int64
}

// MoveDisk takes a disk to another storage, or into another format. The volume that it
// was on goes when that is done.
type MoveDisk struct {
	Target
	Slot    string
	From    string // the volume that it is on
	Storage string
	Format  string // empty: as it is
}

// Migrate takes a guest to another node, with its local disks. One that runs goes on
// running.
type Migrate struct {
	Target
	To      string
	Running bool
}

// Start powers a guest on.
type Start struct{ Target }

// Resume lets a guest go on that is paused.
type Resume struct{ Target }

// Shutdown asks a guest to power off.
type Shutdown struct {
	Target
	Timeout time.Duration // that it may take; 0: as Proxmox is set up
	Force   bool          // pull the plug after that, instead of failing
}

// Stop pulls the plug.
type Stop struct {
	Target
	Abort []string // tasks that wait for the guest to shut down: they end first
}

// Reboot shuts a guest down and starts it with what was pending.
type Reboot struct {
	Target
	Timeout time.Duration // that the guest may take to shut down; 0: as Proxmox is set up
}

// Destroy removes a guest with its disks. The owner is checked again right
// before.
type Destroy struct {
	Target
	Owner Owner
	// Owned means that the VMID is one of the owner's; else the marker must be signed.
	Owned bool
}

// Release takes our marks off a guest and leaves it.
type Release struct {
	Target
	Digest      string
	Description string
	Tags        []string
}

// MakeTemplate turns a stopped guest into a template.
type MakeTemplate struct {
	Target
	// Disk is the slot of the one disk to convert, of a guest that is called a template
	// already: its making was interrupted.
	Disk string
}

// Snap takes a snapshot.
type Snap struct {
	Target
	Name        string
	Description string
	Memory      bool
}

// Unsnap deletes a snapshot. Its owner is checked again right before.
type Unsnap struct {
	Target
	Name  string
	Owner Owner
}

// Rollback goes back to a snapshot. Since doing it twice would lose what came
// after the first time, it is noted in the snapshot's description before: it
// is done at most once for each note.
type Rollback struct {
	Target
	Name string
	Note string // the snapshot's new description
}

// Download has Proxmox fetch a file onto a storage.
type Download struct {
	Node, Storage, Content, File string
	URL                          string
	Checksum, Algorithm          string
}

// Unpack fetches a packed image through this process, and uploads what is in it to a storage.
type Unpack struct {
	Node, Storage, File string
	URL, Packing        string
	Checksum, Algorithm string // of the packed file
	Room                int64  // that the storage has for it; 0: unknown
}

// UploadSeed puts first-boot data onto a storage.
type UploadSeed struct {
	Node, Storage, File string
	Files               map[string][]byte
	Recipe              *Recipe // instead of Files
	For                 int     // the guest it is for
}

// UploadSnippets puts first-boot data onto a node, for Proxmox' own drive.
type UploadSnippets struct {
	Node    string
	Volumes map[string]string // by part: "user", "meta", "network"
	Files   map[string][]byte // as of UploadSeed
	Recipe  *Recipe
	For     int
}

// RemoveFile deletes a volume that isn't a disk.
type RemoveFile struct {
	Node, Volume string
	For          int
}

// RemoveDisk deletes a disk that a task of ours has left. That no guest has it is proved again right
// before.
type RemoveDisk struct {
	Left   Left // what the disk is one of
	Volume string
}

// SetHA tells the high-availability manager about a guest; nil takes it away.
type SetHA struct {
	VMID int
	HA   *HA
	New  bool // it isn't under HA yet
	Off  bool // and isn't to be started
	// Disable has the manager forget that it has given up on the guest, which may be
	// started again after that.
	Disable bool
}

// KeepApart has the high-availability manager keep guests on different nodes.
type KeepApart struct {
	VMID      int      // the guest because of which it is done
	Rule      string   // the rule's name
	Resources []string // all that it is about: "vm:100"
	New       bool
}

// SetFirewall makes the firewall of a guest what it is to be. Proxmox has a call for each rule:
// whoever is interrupted in between looks again.
type SetFirewall struct {
	Target
	To    Firewall // what it is afterwards
	Set   map[string]string
	Unset []string
	// OptionsFirst: the options change before the rules do, as they must when the firewall is
	// turned off.
	OptionsFirst bool
	Edits        []RuleEdit // in this order
	// Digests of what was seen; empty: we have changed it ourselves.
	OptionsDigest, RulesDigest string
}

// SetPool puts a guest into a pool, out of the one it was in.
type SetPool struct {
	VMID int
	Pool string // empty: out of From
	From string
}

// MakeShare makes a directory mapping, or changes one that is ours.
type MakeShare struct {
	Name   string
	Path   string
	Nodes  []string
	New    bool
	Maker  string // see [ShareMaker]
	Digest string // of all mappings, where it isn't new
}

// Detach takes options away from a guest that is to go, before what they are about
// does.
type Detach struct {
	Target
	Digest  string
	Options []string
}

// RemoveShare removes a directory mapping, if it is ours.
type RemoveShare struct {
	Name  string
	Maker string // see [ShareMaker]
	For   int    // the guest that used it last; 0: none
}
