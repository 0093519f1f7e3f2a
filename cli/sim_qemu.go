package cli

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/qemu"
)

// qemuFlags ask for guests that really run.
type qemuFlags struct {
	on  bool
	dir string
}

func (f *qemuFlags) add(fs *pflag.FlagSet) {
	fs.BoolVar(&f.on, "qemu", false, "run guests in QEMU, emulated (needs Linux and "+qemu.Packages+")")
	fs.StringVar(&f.dir, "qemu-dir", "", "directory for what is on their disks (default: a temporary one, or in that of --data)")
}

// option has guests run, if that is asked for. clean removes what isn't to
// be kept.
func (f *qemuFlags) option(data string) (opts []pvesim.Option, clean func(), err error) {
	clean = func() {}
	switch {
	case !f.on && f.dir != "":
		return nil, clean, errors.New("--qemu-dir needs --qemu")
	case !f.on:
		return nil, clean, nil
	}
	dir := f.dir
	if dir == "" && data != "" {
		dir = filepath.Join(data, "qemu")
	}
	if dir == "" {
		// Short, since sockets are in there whose names can't be long.
		if dir, err = os.MkdirTemp("", "sim"); err != nil {
			return nil, clean, err
		}
		clean = func() { _ = os.RemoveAll(dir) }
	}
	machines, err := qemu.New(dir)
	if err != nil {
		clean()
		return nil, func() {}, err
	}
	return []pvesim.Option{pvesim.WithMachines(machines)}, clean, nil
}
