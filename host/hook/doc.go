// Package hook is what a Proxmox host runs before a VM starts and after it has
// stopped: one hookscript for Ignition files, directories shared by virtiofs and
// further hookscripts.
//
// What a VM asks for stands in its description (see firstboot/hookblock), where
// everybody can write who may edit the VM's notes. So nothing of it is trusted:
// what each VM may have, a file says that only root can write,
// /etc/proxplane/hook.yaml. Whatever isn't allowed there is refused and logged.
//
// All that a hook makes for a VM is noted in /run/proxplane/vm before it is
// made, so that any later run can undo it, also when this one was killed.
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

// PolicyFile says what VMs may ask for. Only root may write it.
const PolicyFile = "/etc/proxplane/hook.yaml"

// RootVariable names the environment variable with the folder to take for /, for
// tests and the simulator. Files below it have to be trusted as those of the
// host: whoever sets it can't make them.
const RootVariable = "PROXPLANE_ROOT"
