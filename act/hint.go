package act

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/imagefile"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/privileges"
	"github.com/proxplane/proxplane/pve"
)

// hint returns advice about an error.
func hint(err error) model.Advice {
	if do, ok := hintCode(err); ok {
		return model.Advice{Do: do}
	}
	return model.Advice{Text: hintText(err)}
}

// hintCode returns advice that doors put into their own words.
func hintCode(err error) (model.Do, bool) {
	var e *pve.Error
	if !errors.As(err, &e) {
		return otherCode(err)
	}
	is := func(kind pve.Kind) bool { return errors.Is(err, kind) }
	switch {
	case is(pve.ErrUnauthorized), is(pve.ErrRootOnly):
	case lacking(err, "path"):
		return model.MakeDirectory, true
	case is(pve.ErrConnection) && untrusted(err):
		return model.TrustCA, true
	case lacking(err, "bridge"):
		return model.CheckBridge, true
	case is(pve.ErrForbidden) && lacks(err) == nil:
		return model.CheckPrivs, true
	case lacking(err, "storage"):
		return model.CheckStorage, true
	case is(pve.ErrIgnored):
		return model.StopGuest, true
	case is(pve.ErrNoSnapshots):
		return model.MoveDisks, true
	case is(pve.ErrSnapshots):
		return model.DropSnapshots, true
	}
	return "", false
}

// hintText returns a hint in words that are right for everybody; empty: nothing in particular.
func hintText(err error) string {
	var e *pve.Error
	if !errors.As(err, &e) {
		return otherText(err)
	}
	is := func(kind pve.Kind) bool { return errors.Is(err, kind) }
	switch {
	case is(pve.ErrUnauthorized):
		return "check user, token and secret; a token is written user@realm!name"
	case is(pve.ErrRootOnly):
		return "only root@pam with a password may do this, no token: leave the option out, or log in as root@pam"
	case lacking(err, "pool"):
		return fmt.Sprintf("make the pool (pveum pool add %s on a node), or leave the pool out", strings.TrimPrefix(e.Subject, "pool "))
	case is(pve.ErrForbidden):
		return forbiddenHint(err)
	case is(pve.ErrNoSpace):
		return "free space on the storage, or name another one"
	case is(pve.ErrLocked):
		return lockedHint(e)
	case is(pve.ErrLockTimeout):
		return "others keep it busy; it is tried again"
	case is(pve.ErrNoQuorum):
		return "too few nodes of the cluster are up: pvecm status"
	case is(pve.ErrNodeUnreachable):
		return "the node doesn't answer: is it up, and its pveproxy running?"
	case is(pve.ErrConnection):
		return connectionHint(err)
	case is(pve.ErrChecksum):
		return "the file isn't what the checksum says: correct the checksum or the URL"
	case is(pve.ErrURL):
		return "correct the URL, or put the file there"
	case is(pve.ErrDownload):
		return "check the URL; the node must be able to reach it"
	case is(pve.ErrExists) && strings.HasPrefix(e.Subject, "vm "):
		return "the VMID is taken by a guest that these credentials can't see (it needs VM.Audit), or that is just being made"
	case is(pve.ErrExists) && makesTemplate(err):
		return "an earlier VM with the same VMID has left that volume: if nobody needs it, remove it with pvesm free on the node"
	case is(pve.ErrNotFound) && e.Fields["upid"] != "":
		return "the task isn't known any more, perhaps since its node went down; what it has done is looked at"
	case is(pve.ErrAgentNotConfigured):
		return "the VM has no guest agent configured, so it can't tell its addresses: set the option agent"
	case is(pve.ErrHotplug):
		return "the running VM couldn't take it, and it is pending: a restart applies it"
	case is(pve.ErrTimeout):
		return "it took longer than Proxmox waits; see the task's log in Proxmox"
	case is(pve.ErrTooManyCPUs):
		return "ask for fewer CPUs, or migrate the VM to a node that has as many"
	case is(pve.ErrInvalid):
		return invalidHint(e)
	}
	return ""
}

// makesTemplate reports whether a task failed that makes base volumes of disks.
func makesTemplate(err error) bool {
	var failed *pve.TaskError
	return errors.As(err, &failed) && failed.UPID.Type == "qmtemplate"
}

// otherText returns advice about errors that aren't Proxmox'.
func otherText(err error) string {
	switch {
	case errors.Is(err, ErrNotOurs):
		return "look at the description of the VM in Proxmox"
	case errors.Is(err, imagefile.ErrChecksum):
		return "the file isn't what the checksum says: correct the checksum or the URL"
	case errors.Is(err, imagefile.ErrMissing):
		return "correct the URL, or put the file there"
	case errors.Is(err, imagefile.ErrRedirect):
		return "give the checksum of the file, or the URL that it is really at"
	case errors.Is(err, imagefile.ErrRoom):
		return "free space on the storage, or name another one"
	case errors.Is(err, imagefile.ErrUnreachable):
		return "packed images pass through this machine: let it reach the URL, with HTTPS_PROXY if need be"
	}
	return ""
}

// otherCode returns advice about errors that aren't Proxmox', which doors put into their own words.
func otherCode(err error) (model.Do, bool) {
	for _, h := range otherHints {
		if errors.Is(err, h.kind) && !errors.Is(err, ErrNotOurs) {
			return h.do, true
		}
	}
	return "", false
}

var otherHints = []struct {
	kind error
	do   model.Do
}{
	{ErrNoSSH, model.NameSSH},
	{ssh.ErrHostKeyChanged, model.RenewHostKey},
	{ssh.ErrHostKeyUnknown, model.TrustHostKey},
	{ssh.ErrAuth, model.AuthorizeSSH},
	{ssh.ErrKey, model.CheckSSHKey},
	{ssh.ErrNoSpace, model.FreeSnippets},
	{ssh.ErrUnreachable, model.OpenSSH},
}

// misnamed says that something isn't there that a manifest names and that only people
// make. Guests and files come and go by themselves, and lists are late about them.
func misnamed(err error) bool {
	return slices.ContainsFunc([]string{"path", "storage", "pool", "bridge"}, func(what string) bool { return lacking(err, what) })
}

// lacking says that something of a kind isn't there.
func lacking(err error, what string) bool {
	var e *pve.Error
	return errors.As(err, &e) && e.Kind == pve.ErrNotFound && strings.HasPrefix(e.Subject, what+" ")
}

// lacks returns the privileges that Proxmox named when it refused; nil: it refused for
// other reasons, or named none.
func lacks(err error) *model.Lack {
	var e *pve.Error
	if !errors.As(err, &e) || !errors.Is(err, pve.ErrForbidden) || e.PermPath == "" || len(e.Privs) == 0 {
		return nil
	}
	return &model.Lack{Path: e.PermPath, Privs: e.Privs, Any: e.AnyPriv}
}

// exactly makes a refusal name the privileges that the action needs. Where one of several privileges is
// enough for a call, Proxmox names them all.
func exactly(action model.Action, err error) error {
	var e *pve.Error
	if errors.As(err, &e) && e.AnyPriv && errors.Is(err, pve.ErrForbidden) {
		needs := slices.DeleteFunc(privileges.OnGuest(action), func(p string) bool { return !slices.Contains(e.Privs, p) })
		if len(needs) > 0 {
			e.Privs, e.AnyPriv = needs, false
		}
	}
	return err
}

// untrusted reports whether Proxmox has a certificate of an unknown authority.
func untrusted(err error) bool {
	var pinned *pve.FingerprintError
	var unknown *tls.CertificateVerificationError
	return !errors.As(err, &pinned) && errors.As(err, &unknown)
}

func connectionHint(err error) string {
	var pinned *pve.FingerprintError
	if errors.As(err, &pinned) {
		return "if the certificate was renewed, pin the new one: its fingerprint is " + pinned.Got
	}
	return "Proxmox doesn't answer: check the endpoint and the network"
}

func forbiddenHint(err error) string {
	l := lacks(err)
	if l.Any {
		return fmt.Sprintf("grant %s on %s", privileges.Least(l.Path, l.Privs), l.Path)
	}
	return fmt.Sprintf("grant %s on %s", strings.Join(l.Privs, " and "), l.Path)
}

func lockedHint(e *pve.Error) string {
	switch e.Lock {
	case "":
		return "an operation is under way; it is waited for"
	case "suspended":
		return "the VM is hibernated: resume it"
	}
	return fmt.Sprintf("a %s is under way, and is waited for; if it isn't, qm unlock takes the lock away", e.Lock)
}

func invalidHint(e *pve.Error) string {
	if len(e.Fields) == 0 {
		return ""
	}
	return "Proxmox doesn't take these values: correct them"
}
