//go:build linux

package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// inside tells scripts that a hook has called them.
const inside = "PROXPLANE_HOOK"

// script runs one hookscript as Proxmox would.
func (h *Host) script(ctx context.Context, j job, volid, phase string) error {
	fail := func(err error) error { return fmt.Errorf("hookscript %s: %w", volid, err) }
	vmid := strconv.Itoa(j.config.vmid)
	if h.Getenv(inside) == vmid {
		return fail(errors.New("a hook is at work already, and has called itself"))
	}
	file, err := h.volumeFile(volid)
	if err != nil {
		return fail(err)
	}
	program, err := trustedPath(h.Root, file)
	if errors.Is(err, os.ErrNotExist) {
		return fail(fmt.Errorf("there is no file %s", file))
	}
	if err != nil {
		return fail(refuse("%v", err))
	}
	info, err := os.Stat(program)
	if err != nil {
		return fail(err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o100 == 0 {
		return fail(fmt.Errorf("%s isn't executable", program))
	}
	cmd := exec.CommandContext(ctx, program, vmid, phase)
	cmd.Stdout, cmd.Stderr = h.Out, h.Out
	cmd.Env = append(os.Environ(), inside+"="+vmid)
	if err := cmd.Run(); err != nil {
		return fail(fmt.Errorf("%s %s: %w", vmid, phase, err))
	}
	return nil
}
