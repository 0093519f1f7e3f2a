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

// Guest returns the target's VMID.
func (t Target) Guest() int { return t.VMID }

func (t Target) String() string { return fmt.Sprintf("%d on %s", t.VMID, t.Node) }

// Clone copies a guest or a template.
type Clone struct {
	From        Target
	Snapshot    string
	To          Target // its node may differ when the storage is shared
	Name        string
	Description string // with the marker: it proves from the beginning that the copy is ours
	Full        bool
	Storage     string // of a full copy
	Format      string // of a full copy's disks, where these are files
	Pool        string
}

// Create makes a guest that isn't a clone.
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

// NewDisk is a disk to create: empty, or from an image file.
type NewDisk struct {
	Disk
	Import string // volume id of an image
}

// Configure changes a guest's configuration, if it hasn't changed since it was read.
type Configure struct {
	Target
	Digest      string
	Set         map[string]string // plain options
	Delete      []string          // options and slots
	Disks       []NewDisk         // added, or with other options (Volume is set)
	NICs        []NIC
	Tags        *[]string
	Description *string // with the marker
	// Slow requests a task, for changes that create disks.
	Slow bool
}

// Resize grows a disk to a size.
type Resize struct {
	Target
	Slot string
	Size int64
}

// MoveDisk moves a disk to another storage, or converts it to another format. The old
// volume is deleted afterwards.
type MoveDisk struct {
	Target
	Slot    string
	From    string // the present volume
	Storage string
	Format  string // empty: as it is
}

// Migrate moves a guest to another node, with its local disks. A running guest is migrated
// live.
type Migrate struct {
	Target
	To      string
	Running bool
}

// Start powers a guest on.
type Start struct{ Target }

// Resume continues a paused guest.
type Resume struct{ Target }

// Shutdown asks a guest to power off.
type Shutdown struct {
	Target
	Timeout time.Duration // timeout; 0: Proxmox' default
	Force   bool          // stop the guest after that, instead of failing
}

// Stop stops a guest by force.
type Stop struct {
	Target
	Abort []string // tasks that wait for the guest to shut down: they are stopped first
}

// Reboot shuts a guest down and starts it with its pending changes.
type Reboot struct {
	Target
	Timeout time.Duration // timeout of the shutdown; 0: Proxmox' default
}

// Destroy removes a guest with its disks. The owner is checked again right
// before.
type Destroy struct {
	Target
	Owner Owner
	// Owned means that the VMID is one of the owner's; else the marker must be signed.
	Owned bool
}

// Release removes our marks from a guest and keeps the guest.
type Release struct {
	Target
	Digest      string
	Description string
	Tags        []string
}

// MakeTemplate turns a stopped guest into a template.
type MakeTemplate struct {
	Target
	// Disk is the slot of the only disk to convert, of a guest that is a template already: an
	// earlier conversion was interrupted.
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

// Rollback rolls a guest back to a snapshot. A second rollback would lose later changes, so
// each one is recorded in the snapshot's description first, and done at most once.
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

// Unpack fetches a packed image with this process, unpacks it and uploads the disk to a storage.
type Unpack struct {
	Node, Storage, File string
	URL, Packing        string
	Checksum, Algorithm string // of the packed file
	Room                int64  // free space of the storage; 0: unknown
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
	Files   map[string][]byte // see UploadSeed
	Recipe  *Recipe
	For     int
}

// RemoveFile deletes a volume that isn't a disk.
type RemoveFile struct {
	Node, Volume string
	For          int
}

// RemoveDisk deletes a disk that a task of ours has left. act proves right before the request that
// no guest uses it.
type RemoveDisk struct {
	Left   Left // what the disk is one of
	Volume string
}

// SetHA adds or changes the HA resource of a guest; nil removes it.
type SetHA struct {
	VMID int
	HA   *HA
	New  bool // there is no resource yet
	Off  bool // the guest stays off
	// Disable clears the state error of the resource, so that the guest may be started again.
	Disable bool
}

// KeepApart adds guests to an HA rule that keeps them on different nodes.
type KeepApart struct {
	VMID      int      // the guest that the plan is for
	Rule      string   // the rule's name
	Resources []string // all its resources: "vm:100"
	New       bool
}

// SetFirewall changes the firewall of a guest to Want. Proxmox has a call for each rule: after
// an interruption the firewall is read again.
type SetFirewall struct {
	Target
	To    Firewall // the firewall afterwards
	Set   map[string]string
	Unset []string
	// OptionsFirst: the options change before the rules do, as they must when the firewall is
	// turned off.
	OptionsFirst bool
	Edits        []RuleEdit // in this order
	// Digests of the firewall that was read; empty: we have changed it since.
	OptionsDigest, RulesDigest string
}

// SetPool moves a guest from one pool to another.
type SetPool struct {
	VMID int
	Pool string // empty: only removes it from From
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

// Detach removes options from a guest that is about to be destroyed, before the files that
// they name are deleted.
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
