//go:build linux

package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proxplane/proxplane/firstboot/hookblock"
)

// shareSpec says how a directory is shared. A daemon that does it in the same
// way needn't be started anew.
type shareSpec struct {
	Path    string   `json:"path"`
	Device  uint64   `json:"device"` // of the directory itself: another one
	Inode   uint64   `json:"inode"`  // may have its name by now
	Command []string `json:"command"`
	Target  string   `json:"target,omitempty"` // where the daemon finds it; empty: Command names it
	Only    bool     `json:"readOnly,omitempty"`
}

func (s shareSpec) same(o shareSpec) bool {
	a, _ := json.Marshal(s)
	b, _ := json.Marshal(o)
	return string(a) == string(b)
}

// startPatience is how long a daemon may take until it takes connections.
const startPatience = time.Minute

// share has a directory shared, and returns when QEMU can connect.
func (h *Host) share(ctx context.Context, lock *os.File, vmid int, share hookblock.Share, v virtiofsd) error {
	dir, err := openShare(share.Path)
	if err != nil {
		return err
	}
	defer dir.Close()
	spec, err := h.spec(dir, share, v)
	if err != nil {
		return err
	}
	socket := h.path(share.Socket)
	if limit := 107; len(socket) > limit {
		return fmt.Errorf("the path of a socket can have %d bytes: %s has %d", limit, socket, len(socket))
	}
	for _, d := range []string{filepath.Dir(socket), h.recordDir(vmid)} {
		if err := h.privateDir(d); err != nil {
			return err
		}
	}
	file := h.recordFile(vmid, share.Socket)
	if done, err := h.shared(vmid, file, spec, socket); done || err != nil {
		return err
	}
	if err := h.startDaemon(ctx, lock, dir, vmid, file, daemon{Share: spec, Socket: socket}); err != nil {
		return fmt.Errorf("share %s: %w", share.Path, err)
	}
	how := ""
	if share.ReadOnly {
		how = " read-only"
	}
	h.note(vmid, "shares %s%s at %s", share.Path, how, share.Socket)
	return nil
}

// spec is how the directory is to be shared. Root gives the daemon the very
// directory that was checked, in a namespace of its own, read-only if need be:
// that holds for every virtiofsd, and nobody can put another in its place.
func (h *Host) spec(dir *os.File, share hookblock.Share, v virtiofsd) (shareSpec, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &stat); err != nil {
		return shareSpec{}, err
	}
	spec := shareSpec{Path: share.Path, Device: stat.Dev, Inode: stat.Ino, Only: share.ReadOnly}
	source := share.Path
	if os.Geteuid() == 0 {
		spec.Target = h.run("share")
		source = spec.Target
		if err := h.privateDir(spec.Target); err != nil {
			return shareSpec{}, err
		}
	} else if share.ReadOnly {
		return shareSpec{}, fmt.Errorf("share %s: only root can share read-only", share.Path)
	}
	args, err := v.args(share, source, h.path(share.Socket))
	if err != nil {
		return shareSpec{}, fmt.Errorf("share %s: %w", share.Path, err)
	}
	spec.Command = append([]string{v.program}, args...)
	return spec, nil
}

// shared reports whether the directory is shared already, in the same way. A
// daemon that does something else is stopped, unless its VM runs.
func (h *Host) shared(vmid int, file string, spec shareSpec, socket string) (bool, error) {
	all, err := h.records(vmid)
	if err != nil {
		return false, err
	}
	d := all[file].Daemon
	if d == nil || !d.alive() {
		return false, remove(socket)
	}
	if d.Share.same(spec) && listening(socket) || h.vmRuns(vmid) {
		h.note(vmid, "%s is shared already", spec.Path)
		return true, nil
	}
	return false, h.undoOne(vmid, all[file])
}

func logFile(recordFile string) string { return strings.TrimSuffix(recordFile, ".json") + ".log" }

// startDaemon starts a daemon that outlives us, and waits until it takes
// connections.
func (h *Host) startDaemon(ctx context.Context, lock, dir *os.File, vmid int, file string, d daemon) error {
	if err := waitUnused(ctx, d.Socket); err != nil {
		return err
	}
	order, err := json.Marshal(shimOrder{d, file, h.Bus})
	if err != nil {
		return err
	}
	log, err := os.OpenFile(logFile(file), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	tree := dir
	if d.Share.Target != "" {
		if tree, err = cloneTree(dir, d.Share.Only); err != nil {
			return err
		}
		defer tree.Close()
	}
	cmd := exec.Command("/proc/self/exe", shimWord, string(order))
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{tree, lock}
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := waitSocket(ctx, d.Socket, ended, logFile(file)); err != nil {
		return err
	}
	if h.Bus != "" && !inScope(cmd.Process.Pid, scopeOf(d.Socket)) {
		said, _ := os.ReadFile(logFile(file))
		h.warn(vmid, fmt.Errorf("the share of %s ends when the service that starts VMs is restarted: %s", d.Share.Path, tail(string(said), 500)))
	}
	return nil
}

// waitUnused waits until nobody listens at a socket any more. Whoever does isn't
// the daemon that is about to be started.
func waitUnused(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("somebody else takes connections at %s", socket))
	defer cancel()
	for listening(socket) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

func waitSocket(ctx context.Context, socket string, ended <-chan error, log string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("virtiofsd takes no connections after %s", startPatience))
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !listening(socket) {
		select {
		case err := <-ended:
			said, _ := os.ReadFile(log)
			return errors.New(strings.TrimSpace(fmt.Sprintf("virtiofsd ended at once (%v): %s", err, tail(string(said), 500))))
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

func tail(text string, size int) string {
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-size):]
}

// cloneTree makes a mount of an open directory that is nowhere yet.
func cloneTree(dir *os.File, readOnly bool) (*os.File, error) {
	fd, err := unix.OpenTree(int(dir.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return nil, fmt.Errorf("mount %s aside: %w", dir.Name(), err)
	}
	tree := os.NewFile(uintptr(fd), dir.Name())
	if readOnly {
		err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		if err != nil {
			tree.Close()
			return nil, fmt.Errorf("make %s read-only: %w", dir.Name(), err)
		}
	}
	return tree, nil
}
