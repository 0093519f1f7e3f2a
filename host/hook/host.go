//go:build linux

package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Host is the machine that a hook works on.
type Host struct {
	// Root is put before the host's own paths, for tests and the simulator:
	// /etc/pve, /etc/proxplane, /run and those of storages. Directories to share
	// are taken as they are.
	Root   string
	Getenv func(string) string
	Out    io.Writer                         // Proxmox' task log
	Record func(failed bool, message string) // the host's own log
	Bus    string                            // program to talk to systemd with; empty: there is none
}

// This returns the local machine, with its own root in the simulator.
func This(out io.Writer, root string) *Host {
	h := &Host{Root: root, Getenv: os.Getenv, Out: out, Record: func(bool, string) {}}
	if root == "" {
		h.Record, h.Bus = systemLog(), systemdBus()
	}
	return h
}

// path is a path of the host.
func (h *Host) path(parts ...string) string {
	return filepath.Join(append([]string{h.Root, "/"}, parts...)...)
}

// run is a path below the directory for what doesn't outlive the machine.
func (h *Host) run(parts ...string) string {
	return h.path(append([]string{"/run/proxplane"}, parts...)...)
}

// note says what was done.
func (h *Host) note(vmid int, format string, args ...any) {
	h.tell(false, vmid, fmt.Sprintf(format, args...))
}

// warn says what went wrong, and didn't stop us.
func (h *Host) warn(vmid int, err error) {
	for _, e := range split(err) {
		h.tell(true, vmid, "warning: "+e.Error())
	}
}

func (h *Host) tell(failed bool, vmid int, message string) {
	message = fmt.Sprintf("VM %d: %s", vmid, message)
	fmt.Fprintf(h.Out, "proxplane: %s\n", message)
	h.Record(failed, message)
}

// split takes joined errors apart.
func split(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Unwrap(err) != nil {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, split(e)...)
	}
	return all
}

// Run fulfils the requests of a VM in a phase, as far as they are allowed. An error in
// pre-start prevents the start; in other phases Proxmox prints it as a warning.
func (h *Host) Run(ctx context.Context, vmid int, phase string) error {
	var err error
	switch phase {
	case PreStart:
		err = h.preStart(ctx, vmid)
	case PostStart, PreStop:
		err = h.scripts(ctx, vmid, phase)
	case PostStop:
		err = errors.Join(h.scripts(ctx, vmid, phase), h.undo(ctx, vmid))
	default:
		return fmt.Errorf("there is no phase %q", phase)
	}
	for _, e := range split(err) {
		h.Record(true, fmt.Sprintf("VM %d: %s: %v", vmid, phase, e))
	}
	return err
}
