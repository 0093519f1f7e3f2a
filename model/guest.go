package model

import (
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Power is the power state that is wanted.
type Power string

// What power states there are.
const (
	PowerOn  Power = "On"
	PowerOff Power = "Off" // at once
	// PowerOffGraceful asks the guest; one that refuses runs on.
	PowerOffGraceful Power = "OffGraceful"
)

// Disk is a disk or CD-ROM drive of a guest.
type Disk struct {
	Slot    string `json:"slot"`              // "scsi0"
	Name    string `json:"name,omitempty"`    // in the manifest
	Volume  string `json:"volume,omitempty"`  // observed; empty for a disk that is to be made
	Storage string `json:"storage,omitempty"` // where it is, or is to be made; empty: where the image puts it
	Size    int64  `json:"size,omitempty"`    // bytes; 0: as the image has it
	Format  string `json:"format,omitempty"`
	CDROM   bool   `json:"cdrom,omitempty"`
	// CloudInit is the drive that Proxmox fills from its cloud-init options.
	CloudInit bool `json:"cloudInit,omitempty"`
	// Options are the further keys of the property string, canonical.
	Options map[string]string `json:"options,omitempty"`
}

// RootSlot stands for the slot that the image boots from, which is known only
// when the image is.
const RootSlot = "root"

// Root reports whether this is the disk that came with the image.
func (d Disk) Root() bool { return d.Slot == RootSlot }

var baseVolume = regexp.MustCompile(`[:/]base-(\d+)-`)

// Template is the VMID of the template that the disk is a linked clone of; 0: none.
func (d Disk) Template() int {
	m := baseVolume.FindStringSubmatch(d.Volume)
	if m == nil {
		return 0
	}
	id, _ := strconv.Atoi(m[1])
	return id
}

// NIC is a network interface.
type NIC struct {
	Slot     string            `json:"slot"` // "net0"
	Name     string            `json:"name,omitempty"`
	Model    string            `json:"model"`
	MAC      string            `json:"mac,omitempty"` // upper case
	Bridge   string            `json:"bridge"`
	VLAN     int               `json:"vlan,omitempty"`
	MTU      int               `json:"mtu,omitempty"`
	Firewall bool              `json:"firewall,omitempty"`
	Options  map[string]string `json:"options,omitempty"`
}

// Equal compares all that Proxmox keeps of a NIC.
func (n NIC) Equal(o NIC) bool {
	return n.Slot == o.Slot && n.Model == o.Model && n.MAC == o.MAC && n.Bridge == o.Bridge && n.VLAN == o.VLAN &&
		n.MTU == o.MTU && n.Firewall == o.Firewall && maps.Equal(n.Options, o.Options)
}

// Status is what Proxmox says of a guest.
type Status string

// What Proxmox may say.
const (
	StatusUnknown Status = "unknown"
	StatusRunning Status = "running"
	StatusStopped Status = "stopped"
	StatusPaused  Status = "paused"
)

// Agent is what is known of the guest agent.
type Agent string

// How it may be with an agent.
const (
	AgentUnasked Agent = ""
	AgentUp      Agent = "up"
	AgentDown    Agent = "down"
)

// States in which the manager of high availability has a guest, as far as they matter.
const (
	// HAMigrate and HARelocate are those of a guest on its way to another node. The first is
	// assumed, too, after that was asked for, until the manager gets round to it.
	HAMigrate  = "migrate"
	HARelocate = "relocate"
	// HAError is the state of a guest on which it has given up: it couldn't be started, or
	// its VMID was missing for a while. It stays so until somebody disables or removes the
	// resource; to ask for a start does nothing.
	HAError = "error"
	// HAClearing is ours: the resource was disabled, and the manager hasn't noticed yet.
	HAClearing = "clearing"
)

// Guest is a VM as Proxmox has it. What the cluster's list says is always
// there; Config only when it was read.
type Guest struct {
	VMID   int
	Node   string
	Name   string
	Status Status
	// StalePower means that Status is what the cluster's list says, which shows each
	// guest as a status round of its node saw it, up to ten seconds ago.
	StalePower bool
	// Unseen means that it runs, as Status says, because the task that started it said OK:
	// nobody has seen it run, and its agent hasn't answered.
	Unseen   bool
	Template bool
	// Container means that it is an LXC container: it takes a VMID and addresses, and is never
	// ours.
	Container bool
	Tags      []string
	Lock      string
	Pool      string
	HAState   string
	CPUs      int
	Memory    int64 // bytes
	Disk      int64 // size of the boot disk

	Config *Config
	// Ahead means that Config was read after the lists were asked for.
	Ahead bool
	// Missing are the slots of disks that the config names and the storage doesn't have, as far as
	// that was looked at.
	Missing   []string
	Snapshots []SnapshotInfo // nil: not read
	Firewall  *SeenFirewall  // nil: not read
	Agent     Agent
	Addresses []netip.Prefix
	// InFlight is what a request may still change whose answer nobody waits for any more.
	InFlight Aspect
	Stray    bool // a process runs under its VMID that is older than itself
	// Shown means that the cluster's list shows the guest as its config was read: whatever was
	// written before that config was, the list shows, too.
	Shown bool
}

// Config is a guest's configuration, made canonical.
type Config struct {
	Digest  string
	Options map[string]string // all but disks, NICs, description and tags; defaults left out
	Disks   []Disk            // by slot
	Unused  []Disk            // volumes that no slot holds
	NICs    []NIC             // by slot
	Text    string            // the description without our marker
	Marker  *Marker           // nil: not ours
	Signed  Signature         // what the marker's signature is worth
	Tags    []string
	// Pending are the options whose values wait for the next start; nil
	// values are removals. Options and the other fields have the values that
	// were asked for.
	Pending map[string]*string
	// Running are the options, disks and NICs in Pending as the running guest has them;
	// nil: nothing is pending, or it isn't known.
	Running *Config
	// Half means that the config is what a clone in progress has at first, or a
	// guest that is being destroyed has left: it can't say whose it is.
	Half bool
}

// AgentOn reports whether canonical options give a guest an agent. One that is off is
// the default, which is left out.
func AgentOn(options map[string]string) bool { return options["agent"] != "" }

// DiskAt returns the disk in a slot.
func (c *Config) DiskAt(slot string) (Disk, bool) {
	i := slices.IndexFunc(c.Disks, func(d Disk) bool { return d.Slot == slot })
	if i < 0 {
		return Disk{}, false
	}
	return c.Disks[i], true
}

// BootDisk is the disk that the guest boots from: the first of its boot order, else
// its first.
func (c *Config) BootDisk() (Disk, bool) {
	for part := range strings.SplitSeq(c.Options["boot"], ",") {
		order, _ := strings.CutPrefix(part, "order=")
		for slot := range strings.SplitSeq(order, ";") {
			if d, ok := c.DiskAt(slot); ok && d.holdsSystem() {
				return d, true
			}
		}
	}
	i := slices.IndexFunc(c.Disks, Disk.holdsSystem)
	if i < 0 {
		return Disk{}, false
	}
	return c.Disks[i], true
}

// holdsSystem reports whether a system can be on it.
func (d Disk) holdsSystem() bool {
	return !d.CDROM && !d.CloudInit && d.Slot != "efidisk0" && d.Slot != "tpmstate0"
}

// NICAt returns the NIC in a slot.
func (c *Config) NICAt(slot string) (NIC, bool) {
	i := slices.IndexFunc(c.NICs, func(n NIC) bool { return n.Slot == slot })
	if i < 0 {
		return NIC{}, false
	}
	return c.NICs[i], true
}

// SnapshotInfo is a snapshot as Proxmox has it.
type SnapshotInfo struct {
	Name, Parent, Description string
	Memory                    bool
	Time                      int64
}

// Marker is what the guest's notes say about its owner; nil: nothing, or they aren't read.
func (g *Guest) Marker() *Marker {
	if g.Config == nil {
		return nil
	}
	return g.Config.Marker
}

// OwnedBy reports whether the guest's marker names the owner. Whoever may edit a guest's
// notes can write that: it is a proof only under a VMID of the owner's, or if it is
// signed.
func (g *Guest) OwnedBy(o Owner) bool {
	return g.Config != nil && g.Config.Marker != nil && g.Config.Marker.Owner == o
}
