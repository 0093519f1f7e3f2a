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

// Ran is what came of a program.
type Ran = model.Ran

// ErrCut is the error of reading a file that is larger than Proxmox gives: 16 MiB.
var ErrCut = errors.New("the file is larger than Proxmox gives")

// ErrNotDropped is the error of dropping first-boot data that are read at each start.
var ErrNotDropped = errors.New("its first-boot data aren't on an ISO image of their own, and are read at each start")

// DropSeed has an owner's machine do without its first-boot data from now on, which may hold secrets such as the
// token that it has joined a cluster with. It returns when the drive is empty; the ISO image goes with the next plan of
// the machine. Neither comes back, whatever is put, until the machine is made anew. To drop what was dropped, or what
// there isn't, does nothing.
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
// that fails is no error. Right before, the machine's notes prove that it is the owner's. The end of ctx ends
// the waiting, and not the program, so run what may take long in the background of the machine and ask for it
// again. It is never run twice: when the answer is lost, the error says so (pve.ErrUnknownOutcome).
//
// While no agent answers, the error is a pve.ErrAgentNotRunning, after some seconds in which one of the few
// workers of the node waits: ask rarely. It takes VM.Monitor on Proxmox VE 8 and VM.GuestAgent.Unrestricted
// on 9; `proxplane doctor --for exec` tells. Arguments are in no log of ours, but Proxmox passes them on to the
// guest, where others may see them: secrets belong into Input.
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

// ReadFile reads a file inside an owner's machine, through the guest agent; what holds for [Site.Exec] holds for
// it. A file that isn't there is a pve.ErrNotFound, one over 16 MiB an [ErrCut]. It takes VM.Monitor on Proxmox
// VE 8 and VM.GuestAgent.FileRead on 9; `proxplane doctor --for read-file` tells.
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
