package pvesim

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
)

// Machines carries out what the simulator decides with machines that really
// run: it keeps the bytes of disks and runs guests. The simulator calls it
// without its own lock held, and takes what it says of guests and agents for
// true. Package pvesim/qemu has one.
//
// Disks are named by the simulator; a name is never used again. What is done
// to a disk is done through the guest that has it, if one runs.
type Machines interface {
	MakeDisk(ctx context.Context, disk string, from NewDisk) error
	ResizeDisk(ctx context.Context, disk string, size int64) error
	SnapshotDisk(ctx context.Context, disk, snapshot string) error
	RollBackDisk(ctx context.Context, disk, snapshot string) error
	DropDiskSnapshot(ctx context.Context, disk, snapshot string) error
	// SwapDisk copies a disk and lets the guest go on with the copy.
	SwapDisk(ctx context.Context, disk, copied string) error
	RemoveDisk(disk string) error
	// KeepDisks removes all disks that aren't named.
	KeepDisks(disks map[string]bool) error

	// Start runs a guest until it ends, whatever the reason; gone is called
	// then.
	Start(ctx context.Context, m *Machine, gone func()) error
	// Change plugs and unplugs what differs between the guest and m.
	Change(ctx context.Context, m *Machine) error
	Control(ctx context.Context, vmid int, c Control) error
	// Save stops the guest and writes its memory to a disk, from which
	// Machine.Saved goes on. The guest stays stopped.
	Save(ctx context.Context, vmid int, disk string) error
	// Agent has the guest's agent do something; no arguments are nil. It
	// fails with ErrNoAgent when the agent doesn't answer in time, and with
	// an AgentError when it says that it can't.
	Agent(ctx context.Context, vmid int, command string, args any) (json.RawMessage, error)
	Monitor(ctx context.Context, vmid int, command string) (string, error)
	// Hook runs a hookscript as on a node, and returns what it prints. When
	// the script fails, the error says how.
	Hook(ctx context.Context, h *Hook) (output string, err error)
	// Console connects with a serial port: "serial0".
	Console(ctx context.Context, vmid int, port string) (io.ReadWriteCloser, error)

	// Close ends all guests.
	Close() error
}

// NewDisk says what a new disk holds: nothing, or what a file of this host
// or another disk does.
type NewDisk struct {
	Size     int64  // 0: as large as its source
	UEFI     bool   // the variables of a new machine
	Enrolled bool   // with Microsoft's keys, which switch Secure Boot on
	File     string // of this host, in any format
	Disk     string
	Snapshot string // of Disk
	// Linked disks stand on their source, which doesn't change any more.
	Linked bool
}

// Machine is a guest as it is to be run.
type Machine struct {
	ID         int
	Node       string
	Name, UUID string
	Type       string // of the board: "pc", "q35"
	UEFI       bool
	Vars       string // disk with the UEFI's variables; "": they are lost
	CPU        string // model as in the config; "": Proxmox' default
	// CPUs run at the start, Sockets × Cores are the most there can be.
	CPUs, Sockets, Cores int
	Memory               int64   // MiB from the start
	Modules              []int64 // MiB of each module that was plugged
	Pluggable            bool    // memory can be plugged
	Balloon              bool
	SCSI                 string // controller as in the config
	Drives               []MachineDrive
	NICs                 []MachineNIC
	Shares               []MachineShare
	Serial               []int // numbers of serial ports
	Agent                bool
	Boot                 []string // options of the devices to boot from
	Kernel               *Kernel  // boots this instead
	Args                 string   // for QEMU, as in the config
	Saved                string   // disk with the memory to go on from
}

// MachineDrive is a disk or a CD-ROM drive.
type MachineDrive struct {
	Key   string // "scsi0", "ide2"
	CDROM bool
	// What is in it; nothing of these: an empty drive.
	Disk string
	ISO  string            // file of this host
	Seed map[string]string // files on a disc labelled cidata
	Opts map[string]string // as in the config: discard, ssd, ro, serial …
}

// MachineNIC is a network card.
type MachineNIC struct {
	Key    string // "net0"
	Model  string
	MAC    string
	Bridge string // "": connected to nothing
	Tag    int    // VLAN
	Down   bool
	// Lease is what a DHCP server gives it.
	Lease netip.Prefix
}

// MachineShare is a directory that the guest can mount by its tag.
type MachineShare struct {
	Tag, Path string
	Cache     string
}

// Hook is a hookscript with what it finds on its node.
type Hook struct {
	Node   string
	Script string // path on the node
	VMID   int
	Phase  string
	// What is on the node, by path: texts, and files of this host.
	Texts map[string]string
	Files map[string]string
}

// Control is what can be done to a guest that runs.
type Control string

const (
	// PowerButton asks the guest to shut down.
	PowerButton Control = "power button"
	// ResetButton starts the guest again, at once.
	ResetButton Control = "reset"
	// StopCPUs lets the guest rest.
	StopCPUs Control = "stop"
	// ContinueCPUs lets it go on.
	ContinueCPUs Control = "continue"
	// Wake wakes a guest that sleeps.
	Wake Control = "wake"
	// Quit ends the process.
	Quit Control = "quit"
	// Kill does so without asking it.
	Kill Control = "kill"
)

// AgentError is what a guest's agent says when it can't do something.
type AgentError struct{ Text string }

func (e *AgentError) Error() string { return e.Text }

// ErrNoAgent says that a guest's agent doesn't answer.
var ErrNoAgent = errors.New("the guest's agent doesn't answer")

// WithMachines makes guests run as real machines.
func WithMachines(m Machines) Option { return func(o *simSettings) { o.machines = m } }
