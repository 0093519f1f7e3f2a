package spec

import (
	"time"

	"github.com/proxplane/proxplane/model"
)

// Machine is a machine that is wanted. Its zero fields mean Proxmox' defaults, or those
// of the cluster, the class and the image.
type Machine struct {
	Owner      model.Owner       // whose the guest is; its kind and name are those of the object
	Name       string            // of the guest in Proxmox; empty: the owner's
	VMID       int               // 0: one of the owner's candidates
	Remembered int               // the VMID that was chosen earlier, where somebody wrote it down
	Had        []string          // the addresses that it had from pools, where somebody wrote them down
	Labels     map[string]string // for anti-affinity
	Member     *Member           // it is one of several that an object stands for; nil: the only one

	Class  *Class // nil: a copy has that of its source
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
	Firewall    *Firewall // nil: it is left as it is
	Agent       *Agent
	PCIMappings []PCIMapping
	ExtraConfig map[string]string // options as Proxmox names them

	Place           model.Place   // see [Placement]; no nodes: those of the cluster
	Update          model.Allow   // what may be done without asking
	Rollout         model.Rollout // with which others it is restarted and replaced
	ShutdownTimeout time.Duration // 0: as Proxmox is set up
	Grace           time.Duration // how long it may take to shut down when it is deleted; 0: it is stopped at once
	Retain          bool          // when deleted, the guest stays
	Destroy         bool          // when deleted, it is destroyed even if it was adopted
	Deleted         bool
	Hold            model.Hold
}

// Member says which of several machines of one object a machine is.
type Member struct {
	Of    model.Key // that object
	Index int       // from 0
	Count int
}

// Source is what a machine is made from: of Image, Template and VM there is one at most. A
// machine with none of them begins with empty disks.
type Source struct {
	Image    *Image
	Template string    // a template of Proxmox that no image describes, by its name or VMID
	VM       model.Key // another machine that is wanted
	Snapshot string    // of that machine
	Full     bool      // a full copy instead of a linked one
	// Copy says that the machine stands alone once it is made, see [model.Source.Copy].
	Copy bool
	// Unknown says that it isn't known, since something about it is wrong.
	Unknown bool
}

// Startup says when a machine is started and stopped with its node.
type Startup struct{ Order, UpDelay, DownDelay *int }

// Agent is what is known of the guest agent.
type Agent struct {
	Enabled         *bool // nil: it is there
	WaitForAddress  *bool // nil: if there is an agent
	TrimClonedDisks bool
}

// PCIMapping is a device of the nodes, by the name of its mapping.
type PCIMapping struct {
	Name       string
	PCIe       bool
	PrimaryGPU bool
	MDev       string
}

// Result is what came of a machine.
type Result struct {
	VM     model.VM
	Image  *model.Image // what it is made from, where that is an image or a template; nil: nothing
	Errors Errors
	Notes  []*Error // what people should know, though it isn't wrong

	cluster *Cluster
	nics    []nic
	shares  []share
}
