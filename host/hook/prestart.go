//go:build linux

package hook

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/proxplane/proxplane/firstboot/hookblock"
)

// job is what is to be done for a VM in a phase.
type job struct {
	config vmConfig
	policy Policy
	steps  []step
}

// job reads what a VM asks for, and decides. Together with an error it has the
// steps that are allowed.
func (h *Host) job(vmid int, phase string) (job, error) {
	config, err := h.config(vmid)
	if err != nil {
		return job{}, err
	}
	block, _, err := hookblock.Parse(config.description)
	if err != nil {
		return job{}, fmt.Errorf("the notes of VM %d: %w", vmid, err)
	}
	j := job{config: config}
	if block.IsZero() {
		return j, nil
	}
	text, err := readTrusted(h.Root, h.path(PolicyFile), 1<<20)
	if err == nil {
		j.policy, err = ParsePolicy(text)
	}
	if errors.Is(err, os.ErrNotExist) {
		return j, refuse("VM %d asks for something, and without %s nothing is allowed", vmid, PolicyFile)
	}
	if err != nil {
		return j, refuse("%s can't be used: %v", PolicyFile, err)
	}
	pools, err := h.poolsOf(vmid)
	if err != nil {
		return j, err
	}
	j.steps, err = decide(config, block, j.policy.grant(vmid, pools), phase)
	return j, err
}

// preStart makes all that a VM needs, or nothing.
func (h *Host) preStart(ctx context.Context, vmid int) error {
	j, err := h.job(vmid, PreStart)
	if err == nil {
		err = h.make(ctx, j)
	}
	if err == nil {
		return nil
	}
	// Proxmox doesn't call again when a start fails here. A VM that runs keeps
	// what it has: somebody has called us by hand.
	if h.vmRuns(vmid) {
		return err
	}
	return errors.Join(err, h.undo(context.WithoutCancel(ctx), vmid))
}

func (h *Host) make(ctx context.Context, j job) error {
	vmid := j.config.vmid
	// From an earlier start, that may have failed or been killed.
	if err := h.locked(ctx, vmid, func(*os.File) error { return h.undoOthers(j) }); err != nil {
		return err
	}
	for _, s := range j.steps {
		var err error
		switch {
		case s.ignition != nil:
			err = h.locked(ctx, vmid, func(*os.File) error { return h.putIgnition(vmid, *s.ignition) })
		case s.shares != nil:
			err = h.locked(ctx, vmid, func(lock *os.File) error { return h.shareAll(ctx, lock, j, s.shares) })
		default:
			err = h.script(ctx, j, s.script, PreStart)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// undoOthers removes what an earlier start made and this one doesn't need.
func (h *Host) undoOthers(j job) error {
	vmid := j.config.vmid
	if h.vmRuns(vmid) {
		return nil
	}
	needed := map[string]bool{}
	for _, s := range j.steps {
		if s.ignition != nil {
			for _, file := range s.ignition.files {
				needed[h.recordFile(vmid, file)] = true
			}
		}
		for _, share := range s.shares {
			needed[h.recordFile(vmid, share.Socket)] = true
		}
	}
	return h.undoAllBut(vmid, needed)
}

func (h *Host) shareAll(ctx context.Context, lock *os.File, j job, shares []hookblock.Share) error {
	v, err := h.findVirtiofsd(ctx, j.policy)
	if err != nil {
		return err
	}
	for _, share := range shares {
		if err := h.share(ctx, lock, j.config.vmid, share, v); err != nil {
			return err
		}
	}
	return nil
}

// scripts runs the hookscripts of a phase in which failures only warn: the next
// one runs all the same.
func (h *Host) scripts(ctx context.Context, vmid int, phase string) error {
	j, err := h.job(vmid, phase)
	errs := []error{err}
	for _, s := range j.steps {
		errs = append(errs, h.script(ctx, j, s.script, phase))
	}
	return errors.Join(errs...)
}
