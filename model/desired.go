package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Desired is what people want of one Proxmox cluster.
type Desired struct {
	Set       string // what is applied together
	VMs       []VM
	Images    []Image
	Snapshots []Snapshot
	Shares    []Share `json:",omitempty"`
	Groups    []Group `json:",omitempty"`
	// Prune deletes what this set made earlier and doesn't name any more.
	Prune bool
	// Foresee shows also what follows when what is waited for is there.
	Foresee bool
	// Allow are the effects that the person at the keyboard has agreed to,
	// on top of what the manifests allow.
	Allow Allow
}

// Delete has everything go.
func (d *Desired) Delete() {
	for i := range d.VMs {
		d.VMs[i].Deleted = true
	}
	for i := range d.Images {
		d.Images[i].Deleted = true
	}
	for i := range d.Snapshots {
		d.Snapshots[i].Deleted = true
	}
	for i := range d.Shares {
		d.Shares[i].Deleted = true
	}
	for i := range d.Groups {
		d.Groups[i].Deleted = true
	}
}

// Allow says which effects are agreed to.
type Allow struct {
	Restart bool `json:"restart,omitempty"` // stop and start a running guest
	Replace bool `json:"replace,omitempty"` // destroy a guest and make it anew
	Data    bool `json:"data,omitempty"`    // remove disks, roll back
}

// VM is a guest that is wanted.
type VM struct {
	Owner Owner
	Name  string // in Proxmox
	VMID  int    // 0: the first of the owner's candidates that can be had
	// Remembered is the VMID that was chosen earlier, where somebody wrote that down.
	// It is looked at first, and is given up only when somebody else has it.
	Remembered int `json:",omitempty"`
	Range      Range
	Labels     map[string]string // for anti-affinity
	Source     Source

	Options map[string]string // canonical; the options that the manifest says something about
	// Managed are those of Options that the manifest itself names.
	Managed     []string
	Disks       []Disk // wanted ones, by slot; the CD-ROM for first-boot data isn't among them
	NICs        []NIC  // MAC empty: a stable one of our own
	Tags        []string
	Description string
	Pool        string
	HA          *HA
	Seed        *Seed // first-boot data on a drive of its own
	// Group is the name of the object that stands for this guest and others.
	Group string `json:",omitempty"`
	// Scripts are the hookscripts that its node must have, as volumes.
	Scripts []string `json:",omitempty"`
	// Shares are the names of the directory mappings that it uses.
	Shares []string `json:",omitempty"`
	// RootFor are the parts of the manifest for which options have to be set that
	// only root@pam may.
	RootFor []string `json:"-"`
	// OwnID tells that Options and Description have [OwnVMID] in them.
	OwnID bool `json:",omitempty"`

	Power       Power
	WaitAddress bool // ready means: the agent has told an address
	Place       Place
	Update      Allow // what the manifest allows without asking
	Retain      bool  // when deleted, the guest stays and is only let go
	Deleted     bool  // it is to go
}

// OwnVMID stands for a guest's own VMID in what is wanted of it, where that isn't
// known yet. It is larger than any VMID.
const OwnVMID = 2_093_847_561

// At is what is wanted of the guest if it has that VMID.
func (v VM) At(vmid int) VM {
	if !v.OwnID {
		return v
	}
	own := strings.NewReplacer(strconv.Itoa(OwnVMID), strconv.Itoa(vmid))
	v.OwnID, v.Description = false, own.Replace(v.Description)
	options := make(map[string]string, len(v.Options))
	for k, value := range v.Options {
		options[k] = own.Replace(value)
	}
	v.Options = options
	return v
}

// Fingerprint is short and changes whenever anything changes that would be
// applied to the guest's configuration.
func (v VM) Fingerprint() string {
	v.VMID, v.Remembered, v.Range, v.Labels, v.Place, v.Deleted, v.Power = 0, 0, Range{}, nil, Place{}, false, ""
	v.Update, v.WaitAddress, v.Retain = Allow{}, false, false
	v.Source = Source{Image: v.Source.Image, VM: v.Source.VM}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain values only
	}
	return Digest(string(b))
}

// Source is what a guest is made from. Exactly one of Image, VM and Blank.
type Source struct {
	Image    Key    // a VMImage of the same Desired
	VM       Key    // another wanted VM
	Snapshot string // of the VM
	Blank    bool   // nothing: an empty guest
	Full     bool   // a full copy instead of a linked one
	Storage  string // where full copies go; empty: beside the source
}

// Name is what the source is called in a guest's marker.
func (s Source) Name() string {
	switch {
	case s.VM != Key{}:
		return s.VM.String()
	case s.Image != Key{}:
		return s.Image.String()
	}
	return ""
}

// Place says where a guest may go.
type Place struct {
	Nodes        []string // empty: any
	AntiAffinity []Selector
	MaxPerNode   int
	MinFree      int64 // bytes of memory that stay free on the node
}

// Selector matches labels of VMs.
type Selector struct {
	Key      string
	Operator string // In, NotIn, Exists, DoesNotExist
	Values   []string
}

// HA asks the high-availability manager to look after a guest.
type HA struct {
	Group       string `json:"group,omitempty"`
	MaxRestart  int    `json:"maxRestart,omitempty"`
	MaxRelocate int    `json:"maxRelocate,omitempty"`
}

// Seed is first-boot data on a CD-ROM drive. Its bytes are made by those who
// act; here is what decides whether it has to be made again.
type Seed struct {
	Storage string            // with content iso; empty: the provider's
	Digest  string            // of the files
	Once    bool              `json:",omitempty"` // it is read once only, by Ignition: other data mean another guest
	Rerun   bool              `json:"-"`          // the guest does it all again when it changes
	Apart   bool              `json:",omitempty"` // no drive holds it: the hook of the node takes it from the storage
	Files   map[string][]byte `json:"-"`          // user-data, meta-data, network-config
	// Snippets are the parts that are snippets for Proxmox' own drive: "user",
	// "meta", "network". They are on each node that may run the guest. Empty: it is
	// an ISO image.
	Snippets []string `json:",omitempty"`
	Lost     bool     `json:"-"` // its files aren't known any more
	// Make makes the files where they depend on the VMID; nil: they don't.
	Make func(vmid int) (map[string][]byte, error) `json:"-"`
}

// SeedFiles begin the names of files with first-boot data.
const SeedFiles = "proxplane-"

// Volume is where the data of a guest are kept; for snippets it is what the names
// of all of them begin with.
func (s Seed) Volume(vmid int) string {
	if len(s.Snippets) > 0 {
		return s.Storage + snippetsOf + s.name(vmid)
	}
	return s.Storage + ":iso/" + s.File(vmid)
}

// File is the name of the ISO image: the same data have the same one.
func (s Seed) File(vmid int) string { return s.name(vmid) + ".iso" }

func (s Seed) name(vmid int) string {
	const digits = 12
	return fmt.Sprintf("%s%d-%s", SeedFiles, vmid, s.Digest[:min(len(s.Digest), digits)])
}

const snippetsOf = ":snippets/"

// snippetParts are all that there can be.
var snippetParts = []string{"user", "meta", "network"}

// SnippetVolume is the volume of one part of first-boot data.
func SnippetVolume(volume, part string) string { return volume + "-" + part + ".yaml" }

// SeedVolumes are the files that first-boot data may have been kept in.
func SeedVolumes(volume string) []string {
	if !SeedSnippets(volume) {
		return []string{volume}
	}
	var all []string
	for _, part := range snippetParts {
		all = append(all, SnippetVolume(volume, part))
	}
	return all
}

// SeedSnippets tells whether first-boot data are kept in snippets.
func SeedSnippets(volume string) bool { return strings.Contains(volume, snippetsOf) }

// Image is something that guests are made from.
type Image struct {
	Owner Owner
	// Exactly one of these:
	Template string // a template's name, on one node or on several
	VMID     int    // a template or VM
	URL      string // fetched through Proxmox and made into a template
	ISO      string // volume, or a name on a storage with content iso

	Checksum          string
	ChecksumAlgorithm string
	Storage           string // where the disk of a fetched image goes
	Options           map[string]string
	Range             Range
	Deleted           bool
}

// Version changes when the image has to be made anew.
func (i Image) Version() string { return Digest(i.URL + "\x00" + i.Checksum) }

// Share is a directory of the nodes that guests use by a mapping, which has the
// name of its owner.
type Share struct {
	Owner   Owner
	Path    string
	Nodes   []string // that guests may use it on; empty: all
	Deleted bool     // no guest is to use it any more
}

// Group is an object that stands for several guests, which are called by its name
// and a number from 1 on.
type Group struct {
	Owner     Owner
	Name      string // of the guests in Proxmox, without the number
	Count     int
	ScaleDown bool // those beyond the count may go without asking
	Deleted   bool
}

// Member is the owner of one of the guests.
func (g Group) Member(number int) Owner {
	o := g.Owner
	o.Name = fmt.Sprintf("%s-%d", o.Name, number)
	return o
}

// ShareKey names the object that a directory mapping is for.
func ShareKey(name string) Key { return Key{Kind: "Share", Name: name} }

// Snapshot is a snapshot that is wanted.
type Snapshot struct {
	Owner       Owner
	VM          Key
	Name        string // in Proxmox
	Description string
	Memory      bool
	Revert      string // a value that is new each time to go back to it; empty: never
	Keep        int    // keep only the newest n of this VM's that are ours
	Deleted     bool
	// LeftOver stands for all snapshots of the VM that the set took and no longer
	// names: they go.
	LeftOver bool
}

// Matches tells whether the labels are of those selected.
func (s Selector) Matches(labels map[string]string) bool {
	value, has := labels[s.Key]
	switch s.Operator {
	case "Exists":
		return has
	case "DoesNotExist":
		return !has
	case "NotIn":
		return !has || !slices.Contains(s.Values, value)
	}
	return has && slices.Contains(s.Values, value)
}
