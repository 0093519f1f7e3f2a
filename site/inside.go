package site

import (
	"context"
	"errors"
	"fmt"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve"
)

// Command is a program to run inside a machine.
type Command struct {
	Args  []string // the program and its arguments; no shell
	Input []byte   // for its standard input, 64 KiB at most
}

// Ran is the result of a program.
type Ran = model.Ran

// ErrCut is the error of reading a file that is larger than Proxmox' limit of 16 MiB.
var ErrCut = errors.New("the file is larger than Proxmox gives")

// ErrNotDropped is the error of dropping first-boot data that are read at each start.
var ErrNotDropped = errors.New("its first-boot data aren't on an ISO image of their own, and are read at each start")

// DropSeed removes the first-boot data of an owner's machine for good, since they may hold secrets such as a join
// token. It returns when the drive is empty; the next plan of the machine deletes the ISO image. Neither is created
// again, whatever is put, until the machine is recreated. Dropping data again, or without any data, has no effect.
func (s *Site) DropSeed(ctx context.Context, owner model.Owner) error {
	const tries = 3 // others change configs, too
	for try := 1; ; try++ {
		m, err := s.Read(ctx, owner)
		if err != nil {
			return err
		}
		change, ok := plan.DropSeed(m.Guest)
		if !ok && !plan.DropsSeed(m.Guest.Config) {
			return fmt.Errorf("%s: %w", owner.Key, ErrNotDropped)
		}
		if !ok {
			return nil
		}
		err = s.ByHand(ctx).Do(ctx, m.Guest, change)
		if err == nil {
			s.recheck(owner)
			return nil
		}
		if !errors.Is(err, pve.ErrModified) || try == tries {
			return fmt.Errorf("%s: drop its first-boot data: %w", owner.Key, err)
		}
	}
}

// Exec runs a program inside an owner's machine, through the guest agent, and waits until it ends; a program
// that fails is no error. The machine's notes prove its owner right before. The end of ctx ends the wait, not
// the program, so run long programs in the background of the machine and query them later. The program is
// never run twice: if the answer is lost, the error is pve.ErrUnknownOutcome.
//
// While no agent answers, the error is a pve.ErrAgentNotRunning, after some seconds in which the request blocks
// one of the node's few workers: poll rarely. It needs VM.Monitor on Proxmox VE 8 and
// VM.GuestAgent.Unrestricted on 9, see `proxplane doctor --for exec`. Arguments are in no log of ours, but are
// visible in the guest: pass secrets by Input.
func (s *Site) Exec(ctx context.Context, owner model.Owner, command Command) (Ran, error) {
	m, err := s.Read(ctx, owner)
	if err != nil {
		return Ran{}, err
	}
	g := m.Guest
	ran, err := s.ByHand(ctx).Exec(ctx, g, model.Exec{Target: model.Target{VMID: g.VMID, Node: g.Node}, Owner: owner, Command: command.Args, Input: command.Input})
	if err != nil {
		return Ran{}, fmt.Errorf("%s: %w", owner.Key, err)
	}
	return ran, nil
}

// ReadFile reads a file inside an owner's machine, through the guest agent, like [Site.Exec]. A missing file is
// a pve.ErrNotFound, one over 16 MiB an [ErrCut]. It needs VM.Monitor on Proxmox VE 8 and VM.GuestAgent.FileRead
// on 9, see `proxplane doctor --for read-file`.
func (s *Site) ReadFile(ctx context.Context, owner model.Owner, path string) ([]byte, error) {
	m, err := s.Read(ctx, owner)
	if err != nil {
		return nil, err
	}
	g := m.Guest
	content, whole, err := s.ByHand(ctx).ReadFile(ctx, g, model.ReadFile{Target: model.Target{VMID: g.VMID, Node: g.Node}, Owner: owner, File: path})
	if err == nil && !whole {
		err = ErrCut
	}
	if err != nil {
		return nil, fmt.Errorf("%s: read %s: %w", owner.Key, path, err)
	}
	return content, nil
}
