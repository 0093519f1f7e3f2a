//go:build linux

package qemu

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// shareSocket is where QEMU finds the daemon of a share, seen from the
// guest's own folder.
func shareSocket(i int) string { return fmt.Sprintf("virtiofs%d.sock", i) }

// startShares runs a virtiofsd for each directory of the host that the guest
// has. It gets a socket that listens already, so nobody has to wait for it.
func (b *Backend) startShares(g *guest) error {
	if len(g.machine.Shares) > 0 && b.tools.virtiofsd == "" {
		return errors.New("virtiofsd isn't installed (Debian: apt-get install virtiofsd, or qemu-system-common before 13)")
	}
	for i, s := range g.machine.Shares {
		f, err := listenIn(g.dir, shareSocket(i))
		if err != nil {
			return err
		}
		p, err := b.launcher.start(g.dir, []*os.File{f}, b.tools.virtiofsd, shareArgs(b.tools.virtiofsd, s.Path, s.Cache)...)
		if err != nil {
			return err
		}
		g.shares = append(g.shares, p)
	}
	return nil
}

// shareArgs are the daemon's options: the one in Rust and the older one in C
// take different ones. Neither may change to another root directory unless
// it is root.
func shareArgs(program, dir, cache string) []string {
	if cache == "" {
		cache = "auto"
	}
	if filepath.Base(filepath.Dir(program)) == "qemu" {
		args := []string{"--fd=3", "-o", "source=" + dir, "-o", "cache=" + cache}
		if os.Getuid() != 0 {
			args = append(args, "-o", "sandbox=chroot")
		}
		return args
	}
	args := []string{"--fd=3", "--shared-dir=" + dir, "--cache=" + cache}
	if os.Getuid() != 0 {
		args = append(args, "--sandbox=none")
	}
	return args
}

// listenIn makes a socket in a folder, however long the folder's name is.
func listenIn(dir, name string) (*os.File, error) {
	_ = os.Remove(filepath.Join(dir, name))
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), name)})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	return l.File()
}
