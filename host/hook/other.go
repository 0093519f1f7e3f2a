//go:build !linux

package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// ErrNotHere means that this machine can't be a Proxmox host.
var ErrNotHere = errors.New("hooks run on Proxmox hosts, which have Linux")

// Host is the machine that a hook works on.
type Host struct {
	Root   string
	Getenv func(string) string
	Out    io.Writer
}

// This returns the machine that the process runs on.
func This(out io.Writer, root string) *Host { return &Host{Root: root, Out: out} }

// Run does nothing.
func (h *Host) Run(context.Context, int, string) error { return ErrNotHere }

// Check does nothing.
func (h *Host) Check(int) ([]string, error) { return nil, ErrNotHere }

// Called reports false: only Proxmox calls the hook.
func Called([]string) bool { return false }

// Main does nothing.
func Main(_ context.Context, _ []string, _, complaints io.Writer) int {
	fmt.Fprintln(complaints, ErrNotHere)
	return 1
}
