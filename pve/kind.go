package pve

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is what went wrong, for errors.Is(err, pve.ErrLocked). The kinds are constants and
// errors themselves.
type Kind string //nolint:errname // it reads as pve.Kind, its values as pve.ErrLocked

// Kinds of errors. An error has one main kind, and may be of others too: a task that failed
// because the VM is locked is ErrTaskFailed and ErrLocked.
const (
	// ErrNotFound: a VM, storage, volume, node, task … isn't there; Error.Subject says which.
	ErrNotFound Kind = "not found"
	// ErrExists: something of that name or id is there already; Error.Subject says which.
	ErrExists Kind = "exists"
	// ErrLocked: the VM's config carries a lock (Error.Lock): an operation is under way.
	ErrLocked Kind = "locked"
	// ErrLockTimeout: Proxmox waited in vain for one of its own lock files.
	ErrLockTimeout Kind = "lock timeout"
	// ErrForbidden: a privilege is missing; Error.PermPath and Error.Privs where Proxmox says so.
	ErrForbidden Kind = "forbidden"
	// ErrRootOnly: only root@pam with a ticket may do this, no token ever.
	ErrRootOnly Kind = "root only"
	// ErrUnauthorized: the credentials are wrong, expired or missing.
	ErrUnauthorized Kind = "unauthorized"
	// ErrInvalid: the request isn't right; Error.Fields says which parameters.
	ErrInvalid Kind = "invalid"
	// ErrModified: the config changed since its digest was read.
	ErrModified Kind = "modified meanwhile"
	// ErrAgentNotRunning: the guest agent doesn't answer (yet).
	ErrAgentNotRunning Kind = "agent not running"
	// ErrAgentNotConfigured: the VM's config has no agent; always ErrAgentNotRunning too.
	ErrAgentNotConfigured Kind = "agent not configured"
	// ErrAgent: the guest agent answered, with an error.
	ErrAgent Kind = "agent error"
	// ErrNotRunning: the VM would have to run for this.
	ErrNotRunning Kind = "not running"
	// ErrRunning: the VM runs, and may not for this.
	ErrRunning Kind = "running"
	// ErrRefused: Proxmox doesn't do this in the present state; asking again won't help.
	ErrRefused Kind = "refused"
	// ErrNoSnapshots: a disk is in a format or on a storage that has no snapshots; always
	// ErrRefused too.
	ErrNoSnapshots Kind = "no snapshots possible"
	// ErrSnapshots: the VM's snapshots are in the way; always ErrRefused too.
	ErrSnapshots Kind = "has snapshots"
	// ErrNodeUnreachable: the node that should do it can't be reached from the one asked.
	ErrNodeUnreachable Kind = "node unreachable"
	// ErrNoQuorum: the cluster has lost its quorum, nothing can be changed.
	ErrNoQuorum Kind = "no quorum"
	// ErrTaskFailed: the call started a task, and the task failed. See [TaskError].
	ErrTaskFailed Kind = "task failed"
	// ErrInterrupted: the task was stopped or killed, nobody knows how far it came.
	ErrInterrupted Kind = "interrupted"
	// ErrTimeout: Proxmox gave up waiting, e.g. for a guest to shut down.
	ErrTimeout Kind = "timeout"
	// ErrNoSpace: the storage is full.
	ErrNoSpace Kind = "no space"
	// ErrChecksum: a file isn't what its checksum says.
	ErrChecksum Kind = "checksum mismatch"
	// ErrDownload: Proxmox couldn't fetch a URL.
	ErrDownload Kind = "download failed"
	// ErrURL: the server of a URL has no such file, or doesn't give it away; always ErrDownload
	// too.
	ErrURL Kind = "wrong URL"
	// ErrIgnored: a guest didn't shut down when it was asked to; always ErrTimeout too.
	ErrIgnored Kind = "shutdown ignored"
	// ErrHotplug: a VM that runs couldn't take a value, which is pending now; always ErrInvalid too.
	ErrHotplug Kind = "hot-plug failed"
	// ErrTooManyCPUs: a node doesn't start a VM that has more CPUs than itself; always
	// ErrRefused too.
	ErrTooManyCPUs Kind = "too many CPUs"
	// ErrNotImplemented: this Proxmox has no such call.
	ErrNotImplemented Kind = "not implemented"
	// ErrConnection: Proxmox wasn't reached, or gave no answer to a read.
	ErrConnection Kind = "connection"
	// ErrUnknownOutcome: a write may have been done or not, its answer was lost. Look before
	// sending it again.
	ErrUnknownOutcome Kind = "unknown outcome"
	// ErrUnknown: Proxmox said something that this package has no kind for.
	ErrUnknown Kind = "unknown"
)

func (k Kind) Error() string { return string(k) }

// Error is an answer of Proxmox that isn't a success, or the lack of an answer.
type Error struct {
	Kind   Kind
	Method string
	Path   string // below /api2/json
	Status int    // of the HTTP answer; 0 when there was none
	Reason string // phrase beside the status
	Text   string // all that Proxmox said

	Fields   map[string]string // ErrInvalid: parameter → complaint
	Subject  string            // ErrNotFound, ErrExists: "vm 100", "storage local", where Proxmox names it
	Lock     string            // ErrLocked: "backup", "clone" …
	LockFile string            // ErrLockTimeout: which lock
	PermPath string            // ErrForbidden: "/vms/100"
	Privs    []string          // ErrForbidden: "VM.Config.Memory"; all of them are needed,
	AnyPriv  bool              // unless one is enough
	Sent     string            // ErrUnknownOutcome: the parameters that were sent, without secrets

	Err error // cause when there was no answer

	also []Kind
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Method != "" {
		fmt.Fprintf(&b, "%s %s: ", e.Method, e.Path)
	}
	switch {
	case e.Kind == ErrUnknownOutcome:
		b.WriteString("the answer was lost, so it may have been done or not: ")
	case e.Kind == ErrConnection && e.Status == 0:
		b.WriteString("no answer: ")
	}
	parts := []string{strings.TrimSuffix(e.Text, ".")}
	for _, name := range sortedKeys(e.Fields) {
		parts = append(parts, name+": "+e.Fields[name])
	}
	if len(parts) == 1 {
		parts[0] = e.Text
	}
	b.WriteString(strings.Join(parts, "; "))
	return b.String()
}

// Unwrap gives the cause when there was no answer.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is work with kinds.
func (e *Error) Is(target error) bool {
	kind, ok := target.(Kind)
	return ok && (e.Kind == kind || slices.Contains(e.also, kind))
}

// TaskError is a task that failed. errors.Is finds ErrTaskFailed and the kind of its exit
// status; errors.As an *Error with the details that the exit status gives.
type TaskError struct {
	UPID       UPID
	ExitStatus string   // all that Proxmox said
	Log        []string // the last lines of its log, where it could be read

	cause *Error
}

func (e *TaskError) Error() string {
	what := strings.TrimSpace(e.UPID.Type + " " + e.UPID.ID)
	return fmt.Sprintf("task %s on %s failed: %s", what, e.UPID.Node, e.ExitStatus)
}

// Warnings returns those in the end of the task's log.
func (e *TaskError) Warnings() []string { return warningsIn(e.Log) }

// Unwrap gives the exit status as an *Error.
func (e *TaskError) Unwrap() error { return e.cause }

// Is makes errors.Is work with ErrTaskFailed.
func (e *TaskError) Is(target error) bool { return target == ErrTaskFailed }

// Kind returns the kind of the exit status.
func (e *TaskError) Kind() Kind { return e.cause.Kind }
