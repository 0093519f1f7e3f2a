package model

import (
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Power is the wanted power state.
type Power string

// The power states.
const (
	PowerOn  Power = "On"
	PowerOff Power = "Off" // at once
	// PowerOffGraceful asks the guest to shut down; a guest that refuses keeps running.
	PowerOffGraceful Power = "OffGraceful"
)

// Disk is a disk or CD-ROM drive of a guest.
type Disk struct {
	Slot    string `json:"slot"`              // "scsi0"
	Name    string `json:"name,omitempty"`    // in the manifest
	Volume  string `json:"volume,omitempty"`  // observed; empty for a disk to create
	Storage string `json:"storage,omitempty"` // where it is, or is to be created; empty: the image's
	Size    int64  `json:"size,omitempty"`    // bytes; 0: the image's
	Format  string `json:"format,omitempty"`
	CDROM   bool   `json:"cdrom,omitempty"`
	// CloudInit is the drive that Proxmox fills from its cloud-init options.
	CloudInit bool `json:"cloudInit,omitempty"`
	// Options are the further keys of the property string, canonical.
	Options map[string]string `json:"options,omitempty"`
}

// RootSlot stands for the slot that the image boots from, until the image is known.
const RootSlot = "root"

// Root reports whether this is the disk of the image.
func (d Disk) Root() bool { return d.Slot == RootSlot }

var baseVolume = regexp.MustCompile(`[:/]base-(\d+)-`)

// Template returns the VMID of the template that the disk is a linked clone of; 0: none.
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

// Equal compares all settings of a NIC.
func (n NIC) Equal(o NIC) bool {
	return n.Slot == o.Slot && n.Model == o.Model && n.MAC == o.MAC && n.Bridge == o.Bridge && n.VLAN == o.VLAN &&
		n.MTU == o.MTU && n.Firewall == o.Firewall && maps.Equal(n.Options, o.Options)
}

// Status is the status of a guest in Proxmox.
type Status string

// The statuses.
const (
	StatusUnknown Status = "unknown"
	StatusRunning Status = "running"
	StatusStopped Status = "stopped"
	StatusPaused  Status = "paused"
)

// Agent says whether the guest has an agent that answers.
type Agent string

// The values.
const (
	AgentUnasked Agent = ""
	AgentUp      Agent = "up"
	AgentDown    Agent = "down"
)

// States in which the manager of high availability has a guest, as far as they matter.
const (
	// HAMigrate and HARelocate are the states of a guest that is being moved to another node.
	// HAMigrate is also assumed after a migration was requested, until the manager begins it.
	HAMigrate  = "migrate"
	HARelocate = "relocate"
	// HAError is the state of a guest on which the manager has given up: it couldn't be
	// started, or its VMID was missing for a while. The state stays until the resource is
	// disabled or removed; requests to start have no effect.
	HAError = "error"
	// HAClearing is ours: the resource was disabled, and the manager hasn't noticed yet.
	HAClearing = "clearing"
)

// Guest is a VM as Proxmox has it. Fields from the cluster's list are always set; Config
// only if it was read.
type Guest struct {
	VMID   int
	Node   string
	Name   string
	Status Status
	// StalePower means that Status is from the cluster's list, which has the state of the
	// node's last status round, up to ten seconds ago.
	StalePower bool
	// Unseen means that Status is running only because the start task ended with OK: no list
	// or status shows it yet, and its agent hasn't answered.
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
	// Ahead means that Config was read after the lists were requested.
	Ahead bool
	// Missing are the slots of disks that the config names and the storage doesn't have, as far as
	// that was checked.
	Missing []string
	// Unnamed are volumes with the guest's VMID that neither its config nor one of its snapshots names, as far as
	// that was checked.
	Unnamed   []string
	Snapshots []SnapshotInfo // nil: not read
	Firewall  *SeenFirewall  // nil: not read
	Agent     Agent
	Addresses []netip.Prefix
	// InFlight are the changes of a request that may still be carried out, though its answer was
	// lost.
	InFlight Aspect
	Stray    bool // the process that runs under its VMID is older than the guest
	// Shown means that the cluster's list is at least as new as Config.
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
	Signed  Signature         // the result of verifying the marker's signature
	Tags    []string
	// Pending are the options whose values wait for the next start; nil values are removals.
	// Options and the other fields have the new values.
	Pending map[string]*string
	// Running are the options, disks and NICs in Pending as the running guest has them;
	// nil: nothing is pending, or it isn't known.
	Running *Config
	// Half means that the config is that of a clone in progress, or of a guest that is being
	// destroyed: it doesn't show the owner.
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

// Hibernated reports whether the guest is suspended to disk: it is off, and resumes when it is started.
func (g *Guest) Hibernated() bool { return g.Lock == Hibernated && g.Status == StatusStopped }

// Hibernated is the lock of a guest that is suspended to disk.
const Hibernated = "suspended"

// Names reports whether the config names a volume: in a slot, as an unused disk, or in an option.
func (c *Config) Names(volume string) bool {
	holds := func(d Disk) bool { return SameVolume(d.Volume, volume) }
	if slices.ContainsFunc(c.Disks, holds) || slices.ContainsFunc(c.Unused, holds) {
		return true
	}
	for _, value := range c.Options {
		if SameVolume(value, volume) {
			return true
		}
	}
	return c.Running != nil && c.Running.Names(volume)
}

// BootDisk returns the disk that the guest boots from: the first of its boot order, else
// its first.
func (c *Config) BootDisk() (Disk, bool) {
	for part := range strings.SplitSeq(c.Options["boot"], ",") {
		order, _ := strings.CutPrefix(part, "order=")
		for slot := range strings.SplitSeq(order, ";") {
			if d, ok := c.DiskAt(slot); ok && d.HoldsData() {
				return d, true
			}
		}
	}
	i := slices.IndexFunc(c.Disks, Disk.HoldsData)
	if i < 0 {
		return Disk{}, false
	}
	return c.Disks[i], true
}

// IsDisk reports whether a drive is a disk: neither a CD-ROM drive nor Proxmox' own cloud-init drive.
func (d Disk) IsDisk() bool { return !d.CDROM && !d.CloudInit }

// HoldsData reports whether a drive is a disk that a machine keeps its system or data on, and not the state of
// UEFI or of a TPM.
func (d Disk) HoldsData() bool { return d.IsDisk() && d.Slot != "efidisk0" && d.Slot != "tpmstate0" }

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

// Marker returns the marker in the guest's notes; nil: there is none, or the notes weren't read.
func (g *Guest) Marker() *Marker {
	if g.Config == nil {
		return nil
	}
	return g.Config.Marker
}

// OwnedBy reports whether the guest's marker names the owner. Whoever may edit a guest's
// notes can write a marker: it is proof only under a VMID of the owner's, or if it is
// signed.
func (g *Guest) OwnedBy(o Owner) bool {
	return g.Config != nil && g.Config.Marker != nil && g.Config.Marker.Owner == o
}
