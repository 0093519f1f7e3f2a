package act

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/imagefile"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// Class classifies failures by who must act.
type Class int

// The classes of failures, by severity.
const (
	// Mistaken: the observed state was stale. Observe again and make a new plan.
	Mistaken Class = iota
	// Lost: it isn't known whether the action was done. Observe, and never send it again
	// blindly.
	Lost
	// Busy: somebody else holds a lock. Waiting helps.
	Busy
	// Away: Proxmox or a node can't be reached. Waiting may help.
	Away
	// Passing: a retry may help.
	Passing
	// Full: there is no room. Usually a person has to act.
	Full
	// Hard: it fails each time until a person changes something.
	Hard
	// Fatal: the credentials don't work.
	Fatal
	// Stopped: ctx has ended.
	Stopped
)

// Failure is a classified error.
type Failure struct {
	Class Class
	Text  string // what Proxmox said
	Hint  model.Advice
	Lacks *model.Lack
	// Ignored: a guest didn't shut down when it was asked to.
	Ignored bool
}

// classes are tried in this order: the first kind that fits decides.
var classes = []struct {
	kind  error
	class Class
}{
	{pve.ErrUnauthorized, Fatal},
	{pve.ErrUnknownOutcome, Lost},
	{pve.ErrRootOnly, Hard},
	{pve.ErrForbidden, Hard},
	{ErrNotOurs, Hard},
	{ErrNoFacts, Hard},
	{ErrNoDigest, Hard},
	{ErrKept, Mistaken},
	{ErrNoSSH, Hard},
	{ssh.ErrHostKeyChanged, Hard},
	{ssh.ErrHostKeyUnknown, Hard},
	{ssh.ErrAuth, Hard},
	{ssh.ErrKey, Hard},
	{ssh.ErrNoSpace, Full},
	{ssh.ErrUnreachable, Away},
	{ssh.ErrLost, Away},
	{imagefile.ErrMissing, Hard},
	{imagefile.ErrRedirect, Hard},
	{imagefile.ErrChecksum, Hard},
	{imagefile.ErrContent, Hard},
	{imagefile.ErrRoom, Full},
	{imagefile.ErrUnreachable, Passing},
	{pve.ErrHotplug, Mistaken}, // what it didn't take is pending
	{pve.ErrModified, Mistaken},
	{pve.ErrLocked, Busy},
	{pve.ErrLockTimeout, Busy},
	{pve.ErrNoQuorum, Away},
	{pve.ErrNodeUnreachable, Away},
	{pve.ErrConnection, Away},
	{pve.ErrChecksum, Hard},
	{pve.ErrNoSpace, Full},
	{pve.ErrURL, Hard},
	{pve.ErrExists, Passing},
	{pve.ErrRunning, Mistaken},
	{pve.ErrNotRunning, Mistaken},
	{pve.ErrNotFound, Passing},
	{pve.ErrAgentNotConfigured, Hard},
	{pve.ErrNoSnapshots, Hard},
	{pve.ErrSnapshots, Hard},
	{pve.ErrTooManyCPUs, Hard},
	{pve.ErrIgnored, Mistaken}, // the next plan doesn't ask again
	{pve.ErrInvalid, Hard},
	{pve.ErrNotImplemented, Hard},
}

// Judge classifies an error.
func Judge(err error) Failure {
	f := Failure{Class: Passing, Text: textOf(err), Hint: hint(err), Lacks: lacks(err), Ignored: errors.Is(err, pve.ErrIgnored)}
	if stopped(err) {
		f.Class = Stopped
		return f
	}
	for _, c := range classes {
		if errors.Is(err, c.kind) {
			f.Class = c.class
			break
		}
	}
	if misnamed(err) {
		f.Class = Hard
	}
	return f
}

// Unreachable reports whether no endpoint of Proxmox could be reached.
func Unreachable(err error) bool { return pve.Unreachable(err) && !stopped(err) }

// stopped reports whether ctx has ended. A timeout of a single request has a deadline
// error, too, and doesn't count.
func stopped(err error) bool {
	var e *pve.Error
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &e)
}

// textOf returns Proxmox' message, without our wrapping, if it is Proxmox who said something.
func textOf(err error) string {
	var task *pve.TaskError
	if errors.As(err, &task) {
		text := strings.TrimSpace(task.ExitStatus)
		if detail := task.Detail(); !strings.Contains(text, detail) {
			text += " (" + detail + ")"
		}
		return text
	}
	var e *pve.Error
	if errors.As(err, &e) && e.Kind != pve.ErrUnknownOutcome && e.Text != "" {
		if len(e.Fields) > 0 {
			return fieldsText(e.Fields)
		}
		return strings.TrimSpace(e.Text)
	}
	return err.Error()
}

// fieldsText says what is wrong with each parameter.
func fieldsText(fields map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, k+": "+fields[k])
	}
	return strings.Join(parts, "; ")
}
