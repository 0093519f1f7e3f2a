package model

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// VM is a wanted guest.
type VM struct {
	Owner Owner
	Name  string // in Proxmox
	VMID  int    // 0: the first free candidate of the owner
	// Remembered is the stored VMID that was chosen earlier. It is tried first, and given up
	// only if another guest has it.
	Remembered int `json:",omitempty"`
	// Had are the stored addresses that it had: when it is recreated, it gets those of its pools again
	// that no other guest has.
	Had    []string `json:"-"`
	Range  Range
	Labels map[string]string // for anti-affinity
	Source Source

	Options map[string]string // canonical; the options that the manifest sets
	// Password stands for the password among Options.
	Password Seal    `json:",omitzero"`
	Secret   *Secret `json:"-"` // the input of Password
	// Managed are those of Options that the manifest itself names.
	Managed     []string
	Disks       []Disk // wanted disks, by slot, without the CD-ROM for first-boot data
	NICs        []NIC  // empty MAC: a stable one that follows from the owner
	Tags        []string
	Description string
	Pool        string
	HA          *HA
	// Firewall is the guest's firewall; nil: it isn't managed.
	Firewall *Firewall `json:",omitempty"`
	Seed     *Seed     // first-boot data on a drive of its own
	// Leases are the interfaces that get addresses from pools.
	Leases []Lease `json:",omitempty"`
	// Inherited are the parts that come from the source of a copy: options by their names,
	// [InheritedSeed], [InheritedNICs] and [InheritedText]. Once the copy is made, later changes
	// of its source don't affect them.
	Inherited []string `json:",omitempty"`
	// Group is the name of the object that stands for this guest and others.
	Group string `json:",omitempty"`
	// Scripts are the volumes of hookscripts that its node must have.
	Scripts []string `json:",omitempty"`
	// Shares are the names of the directory mappings that it uses.
	Shares []string `json:",omitempty"`
	// RootFor are the parts of the manifest that need options which only root@pam may set.
	RootFor []string `json:"-"`
	// Own are further options, which depend on the guest's VMID, see [VM.At].
	Own map[string]Text `json:",omitempty"`
	// Hook is the block for the node's hook at the end of the description.
	Hook Text `json:",omitempty"`

	Power       Power
	WaitAddress bool // ready only when the agent has reported an address
	Entered     bool `json:",omitzero"` // whoever wants it runs programs in it and reads its files, through the agent
	Place       Place
	Update      Allow   // effects that the manifest allows
	Rollout     Rollout `json:",omitzero"`
	// ShutdownTimeout is how long the guest may take to shut down; 0: Proxmox' default.
	ShutdownTimeout time.Duration `json:",omitempty"`
	Retain          bool          // when deleted, the guest stays and is only released
	Released        bool          `json:",omitempty"` // Retain, because a command requested the release
	// Destroy: the manifest says that the guest is destroyed when it is deleted. Otherwise an
	// adopted guest is kept.
	Destroy bool `json:",omitempty"`
	Deleted bool // it is to go
	// Surplus: its group has fewer guests by now, and nobody has said that it may go. If it isn't there, it isn't made.
	Surplus bool `json:",omitempty"`
	// LeftOver: it is to be deleted because no manifest names it any more. Its marker says whether it is kept.
	LeftOver bool `json:",omitempty"`
	// Hold prevents all changes; empty: no hold.
	Hold Hold `json:",omitzero"`
	// Grace is how long it may take to shut down before it is destroyed; 0: it is stopped at
	// once.
	Grace time.Duration `json:",omitempty"`
}

// Keeps reports whether a guest with this marker is kept in Proxmox when it is deleted.
func (v VM) Keeps(m *Marker) bool {
	if v.LeftOver {
		return m != nil && m.Retain
	}
	return v.Retain || m != nil && m.Adopted && !v.Destroy
}

// At returns the VM for a VMID, with all texts that depend on the VMID resolved.
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

// Password is the option with the password.
const Password = "cipassword"

// Parts that a copy may inherit from its source, beside options.
const (
	InheritedSeed = "seed:"
	InheritedNICs = "nics:"
	InheritedMACs = "macs:" // the addresses of its interfaces
	InheritedText = "text:" // the notes
)

// Alone returns the VM of an existing copy without inherited parts.
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
		case InheritedMACs:
			v.NICs = slices.Clone(v.NICs)
			for i := range v.NICs {
				v.NICs[i].MAC = ""
			}
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

// Inherits reports whether the copy inherits a part from its source.
func (v VM) Inherits(part string) bool { return slices.Contains(v.Inherited, part) }

// Fingerprint returns a short hash of everything that is applied to the guest's configuration.
func (v VM) Fingerprint() string {
	v = v.Alone().unleased()
	v.Inherited = nil
	v.VMID, v.Remembered, v.Had, v.Range, v.Labels, v.Place, v.Deleted, v.Power = 0, 0, nil, Range{}, nil, Place{}, false, ""
	v.Update, v.WaitAddress, v.Entered, v.ShutdownTimeout, v.Grace, v.Rollout, v.Hold = Allow{}, false, false, 0, 0, Rollout{}, Hold{}
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

// Source is what a guest is made from. Exactly one of Image, VM and Blank.
type Source struct {
	Image    Key    // an image of the same Desired
	VM       Key    // another wanted VM
	Snapshot string // of the VM
	Blank    bool   // nothing: an empty guest
	Full     bool   // a full copy instead of a linked one
	Storage  string // storage of full copies; empty: that of the source
	// Copy says that the guest is independent once it is made: another source is never a
	// reason to recreate it.
	Copy bool `json:",omitempty"`
}

// Name returns the source's name in a guest's marker.
func (s Source) Name() string {
	switch {
	case s.VM != Key{}:
		return s.VM.String()
	case s.Image != Key{}:
		return s.Image.String()
	}
	return ""
}

// HA puts a guest under the high-availability manager.
type HA struct {
	Group       string `json:"group,omitempty"`
	MaxRestart  int    `json:"maxRestart,omitempty"`
	MaxRelocate int    `json:"maxRelocate,omitempty"`
}
