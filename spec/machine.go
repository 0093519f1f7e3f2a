package spec

import (
	"time"

	"github.com/proxplane/proxplane/model"
)

// Machine is a wanted machine. Zero fields have the defaults of Proxmox, the cluster, the
// class or the image.
type Machine struct {
	Owner      model.Owner       // owner of the guest; its kind and name are those of the object
	Name       string            // of the guest in Proxmox; empty: the owner's
	VMID       int               // 0: one of the owner's candidates
	Remembered int               // the stored VMID that was chosen earlier
	Had        []string          // the stored addresses that it had from pools
	Labels     map[string]string // for anti-affinity
	Member     *Member           // set if it is one of several machines of an object

	Class  *Class // nil: that of the source of a copy
	Source Source

	Power       model.Power // empty: on
	Networks    []Network   // nil: the template's, or else one on the network "default"
	Disks       []Disk      // nil: those of the template
	FirstBoot   FirstBoot
	Filesystems []Filesystem
	Hookscripts []string // volumes such as local:snippets/notify.sh
	Tags        []string
	Description string
	Pool        string
	OnBoot      *bool
	Protection  *bool
	Startup     *Startup
	HA          *model.HA
	Firewall    *Firewall // nil: it isn't managed
	Agent       *Agent
	PCIMappings []PCIMapping
	ExtraConfig map[string]string // options as Proxmox names them

	Place           model.Place   // see [Placement]; no nodes: those of the cluster
	Update          model.Allow   // effects that are allowed
	Rollout         model.Rollout // how many are restarted or replaced at once
	ShutdownTimeout time.Duration // 0: as Proxmox is set up
	Grace           time.Duration // timeout of the shutdown before it is deleted; 0: it is stopped at once
	Retain          bool          // when deleted, the guest is kept
	Destroy         bool          // when deleted, it is destroyed even if it was adopted
	Deleted         bool
	Hold            model.Hold
}

// Member identifies one of several machines of an object.
type Member struct {
	Of    model.Key // that object
	Index int       // from 0
	Count int
}

// Source is what a machine is made from: at most one of Image, Template and VM. Without a
// source the machine has empty disks.
type Source struct {
	Image    *Image
	Template string    // a template of Proxmox that no image describes, by its name or VMID
	VM       model.Key // another machine that is wanted
	Snapshot string    // of that machine
	Full     bool      // a full copy instead of a linked one
	// Copy says that the machine is independent once it is made, see [model.Source.Copy].
	Copy bool
	// Unknown says that the source isn't known because of an error.
	Unknown bool
}

// Startup says when a machine is started and stopped with its node.
type Startup struct{ Order, UpDelay, DownDelay *int }

// Agent is what is known of the guest agent.
type Agent struct {
	Enabled         *bool // nil: enabled
	WaitForAddress  *bool // nil: if there is an agent
	TrimClonedDisks bool
}

// PCIMapping is a device of nodes, by the name of its mapping.
type PCIMapping struct {
	Name       string
	PCIe       bool
	PrimaryGPU bool
	MDev       string
}

// Result is the result of translating a machine.
type Result struct {
	VM     model.VM
	Image  *model.Image // its image or template; nil: none
	Errors Errors
	Notes  []*Error // information that isn't an error

	cluster *Cluster
	nics    []nic
	shares  []share
}
