package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/qemu"
)

// qemuFlags ask for guests that really run.
type qemuFlags struct {
	on       bool
	dir, ssh string
}

func (f *qemuFlags) add(fs *pflag.FlagSet) {
	fs.BoolVar(&f.on, "qemu", false, "run guests in QEMU, emulated (needs Linux and "+qemu.Packages+")")
	fs.StringVar(&f.dir, "qemu-dir", "", "`FOLDER` for what is on their disks (default: in that of --data, or a temporary one)")
	fs.StringVar(&f.ssh, "ssh", "", "with --qemu, `ADDRESS` of an SSH server that leads to guests: proxplane ssh VM --jump ADDRESS")
}

// realGuests runs guests, if that is asked for.
type realGuests struct {
	flags   qemuFlags
	backend *qemu.Backend // nil: guests are simulated
	temp    string        // to be removed at the end
}

func (f *qemuFlags) start(data string) (*realGuests, error) {
	g := &realGuests{flags: *f}
	switch {
	case !f.on && f.dir != "":
		return nil, errors.New("--qemu-dir needs --qemu")
	case !f.on && f.ssh != "":
		return nil, errors.New("--ssh needs --qemu: simulated guests have no network")
	case !f.on:
		return g, nil
	}
	dir := f.dir
	if dir == "" && data != "" {
		dir = filepath.Join(data, "qemu")
	}
	var err error
	if dir == "" {
		// Short, since sockets are in there whose names can't be long.
		if dir, err = os.MkdirTemp("", "sim"); err != nil {
			return nil, err
		}
		g.temp = dir
	}
	if g.backend, err = qemu.New(dir); err != nil {
		g.close()
		return nil, fmt.Errorf("--qemu: %w", err)
	}
	return g, nil
}

// options have the simulator use them.
func (g *realGuests) options() []pvesim.Option {
	if g.backend == nil {
		return nil
	}
	return []pvesim.Option{pvesim.WithMachines(g.backend)}
}

// close removes what isn't to be kept.
func (g *realGuests) close() {
	if g.temp != "" {
		_ = os.RemoveAll(g.temp)
	}
}

// serveSSH lets people through to guests, until the context ends.
func (g *realGuests) serveSSH(ctx context.Context, sim *pvesim.Sim, out io.Writer) error {
	if g.flags.ssh == "" {
		return nil
	}
	jump, err := g.backend.NewJump(sim.GuestNetwork())
	if err != nil {
		return fmt.Errorf("--ssh: %w", err)
	}
	l, err := net.Listen("tcp", g.flags.ssh)
	if err != nil {
		return fmt.Errorf("--ssh: %w", err)
	}
	fmt.Fprintf(out, "  ssh          %s  %s\n", l.Addr(), ssh.FingerprintSHA256(jump.HostKey()))
	go func() { _ = jump.Serve(ctx, l) }() // ends with the context
	return nil
}
