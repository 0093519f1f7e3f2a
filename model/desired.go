package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Desired is what people want of one Proxmox cluster.
type Desired struct {
	Set       string // what is applied together
	Door      string `json:",omitempty"` // which front door's set; empty: "vm"
	Range     Range  `json:"-"`          // the VMIDs that its guests get
	VMs       []VM
	Images    []Image
	Snapshots []Snapshot
	Shares    []Share `json:",omitempty"`
	Groups    []Group `json:",omitempty"`
	// Reserved says who gets a VMID that a manifest names, where this is a part of what is
	// wanted; nil: the VMs say so.
	Reserved map[int]Owner `json:"-"`
	// Seen are objects that are here because others depend on them: nothing is planned for
	// them.
	Seen map[Key]bool `json:"-"`
	// Prune deletes what this set made earlier and doesn't name any more.
	Prune bool
	// Quick takes the cluster's list for the truth where it shows nothing to do: neither
	// configs nor power states nor addresses are read then.
	Quick bool `json:",omitempty"`
	// Foresee shows also what follows when what is waited for is there.
	Foresee bool
	// MaxUnavailable bounds how many guests of all that is wanted are restarted or
	// replaced at once, on top of what each guest's Rollout says; zero: nothing does.
	MaxUnavailable Limit `json:",omitzero"`
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
	Stop    bool `json:"stop,omitempty"`    // pull the plug of a guest that ignores its shutdown
	Move    bool `json:"move,omitempty"`    // take a guest to another node
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
	// Password stands for the password among Options.
	Password Seal    `json:",omitzero"`
	Secret   *Secret `json:"-"` // what Password is made from
	// Managed are those of Options that the manifest itself names.
	Managed     []string
	Disks       []Disk // wanted ones, by slot; the CD-ROM for first-boot data isn't among them
	NICs        []NIC  // MAC empty: a stable one of our own
	Tags        []string
	Description string
	Pool        string
	HA          *HA
	Seed        *Seed // first-boot data on a drive of its own
	// Leases are the interfaces that get addresses from pools.
	Leases []Lease `json:",omitempty"`
	// Inherited are the parts of this that come from what a copy is made from:
	// options by their names, [InheritedSeed] and [InheritedNICs]. Once the copy is
	// made it has them for good, whatever becomes of its source.
	Inherited []string `json:",omitempty"`
	// Group is the name of the object that stands for this guest and others.
	Group string `json:",omitempty"`
	// Scripts are the hookscripts that its node must have, as volumes.
	Scripts []string `json:",omitempty"`
	// Shares are the names of the directory mappings that it uses.
	Shares []string `json:",omitempty"`
	// RootFor are the parts of the manifest for which options have to be set that
	// only root@pam may.
	RootFor []string `json:"-"`
	// Own are further options, which depend on the guest's VMID. See [VM.At].
	Own map[string]Text `json:",omitempty"`
	// Hook is what stands behind the description, for the hook of the node.
	Hook Text `json:",omitempty"`

	Power       Power
	WaitAddress bool // ready means: the agent has reported an address
	Place       Place
	Update      Allow   // what the manifest allows without asking
	Rollout     Rollout `json:",omitzero"`
	// ShutdownTimeout is how long the guest may take to shut down; 0: as Proxmox is set up.
	ShutdownTimeout time.Duration `json:",omitempty"`
	Retain          bool          // when deleted, the guest stays and is only released
	Released        bool          `json:",omitempty"` // Retain, because somebody asked for just that
	// Destroy: the manifest says that the guest is destroyed when it is deleted. Without
	// that, an adopted one stays.
	Destroy bool `json:",omitempty"`
	Deleted bool // it is to go
	// LeftOver: it is to go because no manifest names it any more. Its marker says whether it stays.
	LeftOver bool `json:",omitempty"`
	// Hold keeps everything from being changed for it; empty: nothing does.
	Hold Hold `json:",omitzero"`
	// Grace is how long it may take to shut down when it is destroyed, before it is
	// stopped; 0: it is stopped at once.
	Grace time.Duration `json:",omitempty"`
}

// Keeps reports whether a guest with this marker stays when it is deleted.
func (v VM) Keeps(m *Marker) bool {
	if v.LeftOver {
		return m != nil && m.Retain
	}
	return v.Retain || m != nil && m.Adopted && !v.Destroy
}

// At is what is wanted of the guest if it has that VMID: nothing of it depends on that
// any more.
func (v VM) At(vmid int) VM {
	if len(v.Own)+len(v.Hook) == 0 {
		return v
	}
	seed := ""
	if v.Seed != nil {
		seed = v.Seed.Name(vmid)
	}
	options := make(map[string]string, len(v.Options)+len(v.Own))
	maps.Copy(options, v.Options)
	for k, text := range v.Own {
		options[k] = text.For(vmid, seed)
	}
	if len(v.Hook) > 0 {
		v.Description = strings.TrimLeft(v.Description+"\n\n"+v.Hook.For(vmid, seed), "\n")
	}
	v.Options, v.Own, v.Hook = options, nil, nil
	return v
}

// Password is the option that is a password.
const Password = "cipassword"

// Parts that a copy may have from its source, beside options.
const (
	InheritedSeed = "seed:"
	InheritedNICs = "nics:"
)

// Alone is what is wanted of a copy that is there: all but what it got from its
// source.
func (v VM) Alone() VM {
	if len(v.Inherited) == 0 {
		return v
	}
	options, own := maps.Clone(v.Options), maps.Clone(v.Own)
	for _, part := range v.Inherited {
		delete(own, part)
		switch part {
		case InheritedSeed:
			v.Seed = nil
		case InheritedNICs:
			v.NICs = nil
		case Password:
			delete(options, part)
			v.Password, v.Secret = Seal{}, nil
		case "bios":
			delete(options, part)
			v.Disks = slices.DeleteFunc(slices.Clone(v.Disks), func(d Disk) bool { return d.Slot == "efidisk0" })
		case "hookscript":
			delete(options, part)
			v.Scripts = nil
		default:
			delete(options, part)
		}
	}
	v.Options, v.Own = options, own
	if v.Managed = slices.DeleteFunc(slices.Clone(v.Managed), v.Inherits); len(v.Managed) == 0 {
		v.Managed = nil
	}
	return v
}

// Inherits reports whether a part comes from what the guest is a copy of.
func (v VM) Inherits(part string) bool { return slices.Contains(v.Inherited, part) }

// Fingerprint is short and changes whenever anything changes that would be
// applied to the guest's configuration.
func (v VM) Fingerprint() string {
	v = v.Alone().unleased()
	v.Inherited = nil
	v.VMID, v.Remembered, v.Range, v.Labels, v.Place, v.Deleted, v.Power = 0, 0, Range{}, nil, Place{}, false, ""
	v.Update, v.WaitAddress, v.ShutdownTimeout, v.Grace, v.Rollout, v.Hold = Allow{}, false, 0, 0, Rollout{}, Hold{}
	if v.Source = (Source{Image: v.Source.Image, VM: v.Source.VM, Copy: v.Source.Copy}); v.Source.Copy {
		v.Source = Source{Copy: true}
	}
	// Tags are for everybody to see: seals stand for what is secret.
	v.Password.Also = nil
	if _, said := v.Options[Password]; said {
		v.Options = maps.Clone(v.Options)
		delete(v.Options, Password)
	}
	if v.Seed != nil {
		seed := *v.Seed
		v.Seed, seed.Also = &seed, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain values only
	}
	return Digest(string(b))
}

// Hold says why nothing is changed for an object: it is only looked at.
type Hold struct {
	Reason Reason
	Text   string // one sentence
}

// Source is what a guest is made from. Exactly one of Image, VM and Blank.
type Source struct {
	Image    Key    // an image of the same Desired
	VM       Key    // another wanted VM
	Snapshot string // of the VM
	Blank    bool   // nothing: an empty guest
	Full     bool   // a full copy instead of a linked one
	Storage  string // where full copies go; empty: beside the source
	// Copy says that the guest stands alone once it is made: where it came from is
	// history, and never a reason to make it anew.
	Copy bool `json:",omitempty"`
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

// Matches reports whether the labels are of those selected.
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

// HA asks the high-availability manager to look after a guest.
type HA struct {
	Group       string `json:"group,omitempty"`
	MaxRestart  int    `json:"maxRestart,omitempty"`
	MaxRelocate int    `json:"maxRelocate,omitempty"`
}

// Image is something that guests are made from.
type Image struct {
	Owner Owner
	// Exactly one of these:
	Template string // a template's name, on one node or on several
	VMID     int    // a template or VM
	URL      string // fetched through Proxmox and made into a template
	ISO      string // volume, or a name on a storage with content iso

	// Pin says which of the templates of that name are meant.
	Pin `json:",inline"`

	Checksum          string
	ChecksumAlgorithm string
	Storage           string // where the disk of a fetched image goes
	// Ahead are the nodes that get a template of a fetched image before a machine needs it there,
	// where templates are on local storages; [AllNodes]: all of them.
	Ahead []string `json:",omitempty"`
	// On is the node that this template of the image is for; empty: it is the image itself. See
	// [Image.Copy].
	On string `json:",omitempty"`
	// Used says that machines are to be made from it.
	Used    bool `json:"-"`
	Options map[string]string
	Range   Range
	Deleted bool
	Hold    Hold `json:",omitzero"` // as of a VM
	// OnlyTemplate says that what VMID names must be a template.
	OnlyTemplate bool `json:",omitempty"`
	// Implied says that no object describes it: it is here for the guests that are
	// made from it.
	Implied bool `json:",omitempty"`
	// Lent says that it is another namespace's, which looks after it: here guests are only
	// made from it. With a URL, VMID is the template that was made there; 0: none yet.
	Lent bool `json:",omitempty"`
}

// AllNodes stands for every node of the cluster.
const AllNodes = "*"

// Copy is the template of an image for one node, where templates are on local storages. It
// is planned as an object of its own, so that nodes don't wait for each other.
func (i Image) Copy(node string) Image {
	i.On, i.Ahead = node, nil
	return i
}

// Object is what the image is planned as: its owner, or one of the image's templates.
func (i Image) Object() Owner {
	o := i.Owner
	if i.On != "" {
		o.Name += copySign + i.On
	}
	return o
}

// copySign is between the name of an image and the node of one of its templates. Names of
// objects can't have it.
const copySign = "@"

// CopyOf takes the key of an image's template apart; ok: it is one.
func (k Key) CopyOf() (image Key, node string, ok bool) {
	k.Name, node, ok = strings.Cut(k.Name, copySign)
	return k, node, ok
}

// Template is a guest that an image stands for.
type Template struct {
	VMID int
	Name string
	Node string
}

// Pin tells a template from others of the same name: names aren't unique, and whoever
// may configure a VM may give it any. The zero value is no pin.
type Pin struct {
	Pool  string   `json:",omitempty"`
	Tag   string   `json:",omitempty"`
	Nodes []string `json:",omitempty"`
	// DiskStorage is where its root disk is.
	DiskStorage string `json:",omitempty"`
}

// IsZero reports whether any template of the name is meant.
func (p Pin) IsZero() bool {
	return p.Pool == "" && p.Tag == "" && len(p.Nodes) == 0 && p.DiskStorage == ""
}

// Identity is what the image stands for: the same name may stand for something else
// later.
func (i Image) Identity() string {
	switch {
	case i.Template != "":
		return i.Template
	case i.VMID != 0:
		return strconv.Itoa(i.VMID)
	case i.URL != "":
		return "fetched " + i.Version()
	}
	return ""
}

// Version changes when the image has to be made anew.
func (i Image) Version() string { return Digest(i.URL + "\x00" + i.Checksum) }

// Share is a directory of the nodes that guests use by a mapping, which has the
// name of its owner.
type Share struct {
	Owner   Owner
	Maker   string `json:",omitempty"` // see [ShareMaker]; empty: the owner's set
	Path    string
	Nodes   []string // that guests may use it on; empty: all
	Deleted bool     // no guest is to use it any more
}

// By is whose the mapping is.
func (s Share) By() string { return cmp.Or(s.Maker, s.Owner.Set) }

// Group is an object that stands for several guests, which are called by its name
// and a number from 1 on.
type Group struct {
	Owner     Owner
	Name      string // of the guests in Proxmox, without the number
	Count     int
	ScaleDown bool // those beyond the count may go without asking
	Deleted   bool
	VMID      int   `json:",omitempty"` // of the first one; 0: they are derived
	Range     Range `json:",omitzero"`  // that they are derived from
}

// Owns reports whether a VMID is one that the guest with that number may have.
func (g Group) Owns(vmid, number int) bool {
	return g.VMID != 0 && vmid == g.VMID+number-1 || g.Member(number).Derives(vmid, g.Range)
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
	Hold        Hold `json:",omitzero"` // as of a VM
	// LeftOver stands for all snapshots of the VM that the set took and no longer
	// names: they go.
	LeftOver bool
}
