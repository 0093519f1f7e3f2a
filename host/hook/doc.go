// Package hook is the hookscript that a Proxmox host runs before a VM starts and after it
// has stopped: for Ignition files, directories shared by virtiofs and further hookscripts.
//
// The requests of a VM are in its description (see firstboot/hookblock), which everybody
// may change who may edit the VM's notes. So they aren't trusted: a file that only root can
// write, /etc/proxplane/hook.yaml, says what each VM may have. Everything else is refused
// and logged.
//
// The hook records in /run/proxplane/vm what it is about to create for a VM, so that a
// later run can undo it, also after a kill.
package hook

// Phases in which Proxmox calls hookscripts.
const (
	PreStart  = "pre-start"
	PostStart = "post-start"
	PreStop   = "pre-stop"
	PostStop  = "post-stop"
)

// Phases are all of them, in the order of a VM's life.
var Phases = []string{PreStart, PostStart, PreStop, PostStop}

// PolicyFile has the allowed requests of VMs. Only root may write it.
const PolicyFile = "/etc/proxplane/hook.yaml"

// RootVariable names the environment variable with the folder to take for /, for
// tests and the simulator. Files below it have to be trusted as those of the
// host: whoever sets it can't make them.
const RootVariable = "PROXPLANE_ROOT"
