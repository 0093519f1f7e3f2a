// Package act carries out actions of plans: one [model.Action] is one Proxmox call that
// changes something.
//
// Nothing waits here. A call that starts a task returns with the task, which [Tasks]
// follows. No write is sent twice: a lost answer is an error of its own, after which the
// engine observes again.
//
// Before an irreversible call, the proof of ownership is read once more.
package act

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/imagefile"
	"github.com/proxplane/proxplane/leftover"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// Actor acts on one cluster. It is safe for concurrent use.
type Actor struct {
	client *pve.Client
	hosts  *ssh.Hosts // nil: nodes can't be logged in to
	keys   model.Keys
	guests leftover.Guests

	web *imagefile.Web

	mu       sync.Mutex
	version  pve.Version
	measured map[imagefile.Source]imagefile.Measured
}

// New returns an Actor.
func New(client *pve.Client) *Actor {
	return &Actor{client: client, web: imagefile.New(nil), measured: map[imagefile.Source]imagefile.Measured{}}
}

// Signing makes the actor sign the markers that it writes, and require a signature where
// nothing else proves the owner of a guest.
func (a *Actor) Signing(keys model.Keys) *Actor {
	a.keys = keys
	return a
}

// Keys returns the keys that the actor signs with.
func (a *Actor) Keys() model.Keys { return a.keys }

// Result is the result of an action.
type Result struct {
	// Task is the UPID of the started task; empty: the action is done already.
	Task string
	// PID is the process that was started in the guest; [Actor.Ran] follows it.
	PID int
	// Content is the content of the file that was read; Cut: it is truncated.
	Content []byte
	Cut     bool
}

// ErrNoFacts is the error for an action without a row in [model.FactsOf]: it isn't known
// what has to be proved before it, so it isn't done.
var ErrNoFacts = errors.New("it isn't in the table of actions")

// ErrNotByHand is the error for an action that only plans may do.
var ErrNotByHand = errors.New("only a plan does that")

// ErrNoDigest is the error for a change of a guest's config without the digest that it was planned
// for. Proxmox would apply it whatever has changed since, and whoever owns the guest by now, so it
// isn't sent.
var ErrNoDigest = errors.New("the digest of the config that it was planned for is missing")

// Do carries out one action. known has the facts when it was planned, see [Know].
func (a *Actor) Do(ctx context.Context, action model.Action, known Known) (Result, error) {
	if model.FactsOf(action).Kind == "" {
		return Result{}, fmt.Errorf("%s: %w", Words(action), ErrNoFacts)
	}
	if known.ByHand != "" && !model.FactsOf(action).ByHand {
		return Result{}, fmt.Errorf("%s: %w", Words(action), ErrNotByHand)
	}
	if model.FactsOf(action).Proof == model.ProofDigest && digestOf(action) == "" {
		return Result{}, fmt.Errorf("%s: %w", Words(action), ErrNoDigest)
	}
	if model.FactsOf(action).Inside {
		res, err := a.inside(ctx, action)
		return res, exactly(action, err)
	}
	upid, err := a.do(ctx, a.clientFor(action, known), action, known)
	if err != nil {
		return Result{}, exactly(action, err)
	}
	if upid.IsZero() {
		return Result{}, nil
	}
	return Result{Task: upid.String()}, nil
}

func (a *Actor) do(ctx context.Context, c *pve.Client, action model.Action, known Known) (upid pve.UPID, err error) {
	byHand := known.ByHand != ""
	vm := func(t model.Target) pve.VM { return c.VM(t.Node, t.VMID) }
	switch act := action.(type) {
	case model.Clone:
		act.Description = a.keys.Sign(act.Description)
		upid, err = vm(act.From).Clone(ctx, cloneOptions(act))
	case model.Create:
		act.Description = a.keys.Sign(act.Description)
		upid, err = c.Node(act.Node).Create(ctx, createOptions(act))
	case model.Configure:
		if act.Description != nil {
			signed := a.keys.Sign(*act.Description)
			act.Description = &signed
		}
		upid, err = configure(ctx, vm(act.Target), act)
	case model.Resize:
		upid, err = vm(act.Target).Resize(ctx, resizeOptions(act))
	case model.MoveDisk:
		upid, err = vm(act.Target).MoveDisk(ctx, pve.MoveDiskOptions{Disk: act.Slot, Storage: act.Storage, Format: act.Format, Delete: true})
	case model.Migrate:
		upid, err = vm(act.Target).Migrate(ctx, pve.MigrateOptions{Target: act.To, Online: act.Running, WithLocalDisks: act.Running})
	case model.Start:
		upid, err = vm(act.Target).Start(ctx, pve.StartOptions{})
	case model.Resume:
		upid, err = vm(act.Target).Resume(ctx, pve.ResumeOptions{})
	case model.Shutdown:
		upid, err = vm(act.Target).Shutdown(ctx, pve.ShutdownOptions{Timeout: act.Timeout, ForceStop: act.Force})
	case model.Stop:
		abort(ctx, c, act.Abort)
		upid, err = vm(act.Target).Stop(ctx, pve.StopOptions{})
	case model.Reboot:
		upid, err = vm(act.Target).Reboot(ctx, pve.RebootOptions{Timeout: act.Timeout})
	case model.Destroy:
		upid, err = a.destroy(ctx, c, act)
	case model.Release:
		err = release(ctx, vm(act.Target), act)
	case model.MakeTemplate:
		upid, err = vm(act.Target).Template(ctx, act.Disk)
	case model.Snap:
		upid, err = vm(act.Target).Snapshot(ctx, pve.SnapshotOptions{Name: act.Name, Description: act.Description, VMState: act.Memory})
	case model.Unsnap:
		if byHand {
			upid, err = vm(act.Target).DeleteSnapshot(ctx, act.Name, false)
			break
		}
		upid, err = a.unsnap(ctx, c, act)
	case model.Rollback:
		if byHand {
			upid, err = vm(act.Target).Rollback(ctx, act.Name, false)
			break
		}
		upid, err = a.rollback(ctx, c, act)
	case model.Download:
		upid, err = c.Storage(act.Node, act.Storage).Download(ctx, downloadOptions(act))
	case model.Unpack:
		upid, err = a.unpack(ctx, c, act, known.Progress)
	case model.UploadSeed:
		upid, err = uploadSeed(ctx, c, act)
	case model.UploadSnippets:
		err = a.uploadSnippets(ctx, c, act)
	case model.RemoveFile:
		upid, err = removeFile(ctx, c, act)
	case model.RemoveDisk:
		upid, err = a.removeDisk(ctx, c, act)
	case model.SetHA:
		err = a.setHA(ctx, c, act)
	case model.KeepApart:
		err = keepApart(ctx, c, act)
	case model.SetPool:
		err = setPool(ctx, c, act)
	case model.SetFirewall:
		err = setFirewall(ctx, vm(act.Target), act)
	case model.MakeShare:
		err = makeShare(ctx, c, act)
	case model.RemoveShare:
		err = removeShare(ctx, c, act)
	case model.Detach:
		err = vm(act.Target).SetConfig(ctx, pve.ConfigChange{Delete: act.Options, Digest: act.Digest})
	default:
		err = fmt.Errorf("there is no call for %T", action)
	}
	if err != nil && !byHand { // who asks by hand knows for what
		return pve.UPID{}, fmt.Errorf("%s: %w", Words(action), err)
	}
	return upid, err
}

// digestOf returns the digest of the config that an action was planned for.
func digestOf(action model.Action) string {
	switch act := action.(type) {
	case model.Configure:
		return act.Digest
	case model.Release:
		return act.Digest
	case model.Detach:
		return act.Digest
	}
	return ""
}

// abort ends tasks that hold the lock of a guest while they wait for it to shut down. Where these
// credentials may not, they end by themselves.
func abort(ctx context.Context, c *pve.Client, tasks []string) {
	for _, task := range tasks {
		if upid, err := pve.ParseUPID(task); err == nil {
			_ = c.Task(upid).Stop(ctx)
		}
	}
}

// Words describes an action, for errors and logs.
func Words(action model.Action) string {
	switch act := action.(type) {
	case model.Clone:
		return fmt.Sprintf("clone %s to %s", act.From, act.To)
	case model.Create:
		return fmt.Sprintf("create VM %s", act.Target)
	case model.Configure:
		return fmt.Sprintf("configure VM %s", act.Target)
	case model.Resize:
		return fmt.Sprintf("grow %s of VM %s", act.Slot, act.Target)
	case model.MoveDisk:
		return fmt.Sprintf("move %s of VM %s to %s", act.Slot, act.Target, act.Storage)
	case model.Migrate:
		return fmt.Sprintf("migrate VM %s to %s", act.Target, act.To)
	case model.Start:
		return fmt.Sprintf("start VM %s", act.Target)
	case model.Resume:
		return fmt.Sprintf("resume VM %s", act.Target)
	case model.Shutdown:
		return fmt.Sprintf("shut down VM %s", act.Target)
	case model.Stop:
		return fmt.Sprintf("stop VM %s", act.Target)
	case model.Reboot:
		return fmt.Sprintf("restart VM %s", act.Target)
	case model.Destroy:
		return fmt.Sprintf("destroy VM %s", act.Target)
	case model.Release:
		return fmt.Sprintf("release VM %s", act.Target)
	case model.MakeTemplate:
		if act.Disk != "" {
			return fmt.Sprintf("make %s of VM %s a base volume", act.Disk, act.Target)
		}
		return fmt.Sprintf("make VM %s a template", act.Target)
	case model.Snap:
		return fmt.Sprintf("take snapshot %s of VM %s", act.Name, act.Target)
	case model.Unsnap:
		return fmt.Sprintf("delete snapshot %s of VM %s", act.Name, act.Target)
	case model.Rollback:
		return fmt.Sprintf("roll VM %s back to %s", act.Target, act.Name)
	case model.Download:
		return fmt.Sprintf("fetch %s onto %s of %s", act.File, act.Storage, act.Node)
	case model.Unpack:
		return fmt.Sprintf("unpack %s onto %s of %s", act.File, act.Storage, act.Node)
	case model.UploadSeed:
		return fmt.Sprintf("upload %s onto %s of %s", act.File, act.Storage, act.Node)
	case model.UploadSnippets:
		return fmt.Sprintf("copy snippets of VM %d onto %s", act.For, act.Node)
	case model.RemoveFile:
		return "remove " + act.Volume
	case model.RemoveDisk:
		return "remove " + act.Volume
	case model.SetHA:
		return fmt.Sprintf("tell HA about VM %d", act.VMID)
	case model.KeepApart:
		return fmt.Sprintf("keep VM %d apart by HA rule %s", act.VMID, act.Rule)
	case model.MakeShare:
		return fmt.Sprintf("write the directory mapping %s of %s", act.Name, act.Path)
	case model.RemoveShare:
		return "remove the directory mapping " + act.Name
	case model.Detach:
		return fmt.Sprintf("take %s away from VM %s", strings.Join(act.Options, ", "), act.Target)
	case model.SetFirewall:
		return fmt.Sprintf("set the firewall of VM %s", act.Target)
	case model.Exec: // arguments may be secrets
		return fmt.Sprintf("run %s in VM %s", act.Program(), act.Target)
	case model.ReadFile:
		return fmt.Sprintf("read %s in VM %s", act.File, act.Target)
	case model.SetPool:
		if act.Pool == "" {
			return fmt.Sprintf("take VM %d out of pool %q", act.VMID, act.From)
		}
		return fmt.Sprintf("put VM %d into pool %q", act.VMID, act.Pool)
	}
	return fmt.Sprintf("%T", action)
}
