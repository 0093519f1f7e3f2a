package simulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/nodeos"
	"github.com/proxplane/proxplane/pvesim/qemu"
)

// qemuFlags ask for guests that really run.
type qemuFlags struct {
	on  bool
	dir string
}

func (f *qemuFlags) add(fs *pflag.FlagSet) {
	fs.BoolVar(&f.on, "qemu", false, "run guests in QEMU, emulated (needs Linux and "+qemu.Packages+")")
	fs.StringVar(&f.dir, "qemu-dir", "", "`FOLDER` for what is on their disks (default: in that of --data, or a temporary one)")
}

// realGuests runs guests, if that is asked for.
type realGuests struct {
	backend *qemu.Backend // nil: guests are simulated
	temp    string        // to be removed at the end
}

func (f *qemuFlags) start(data string) (*realGuests, error) {
	g := &realGuests{}
	switch {
	case !f.on && f.dir != "":
		return nil, errors.New("--qemu-dir needs --qemu")
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

// dial connects with a guest, for clients of the nodes' SSH servers. Simulated
// guests have no network.
func (g *realGuests) dial(sim *pvesim.Sim) nodeos.Dialer {
	if g.backend == nil {
		return nil
	}
	return func(ctx context.Context, host string, port uint32) (net.Conn, error) {
		addr, err := netip.ParseAddr(host)
		if err != nil {
			return nil, fmt.Errorf("%s is no address", host)
		}
		return g.backend.Dial(ctx, sim.GuestNetwork(), netip.AddrPortFrom(addr, uint16(port)))
	}
}
