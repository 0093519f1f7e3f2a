//go:build linux

package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// shimWord tells the program that it is to become a daemon.
const shimWord = "hook-share"

// shimOrder is what the daemon is to do. The directory comes as an open file.
type shimOrder struct {
	Daemon daemon `json:"daemon"`
	Record string `json:"record"`
	Bus    string `json:"bus,omitempty"`
}

// Numbers of the files that it comes with: the directory, and the VM's lock,
// which it holds until it has noted itself.
const (
	shimDir  = 3
	shimLock = 4
)

// becomeDaemon notes this process, gives it its directory and turns it into
// the daemon. Since it notes itself, whoever started it may be killed at any
// moment: a later run finds the note, and the process, or neither.
func becomeDaemon(text string) error {
	var order shimOrder
	if err := json.Unmarshal([]byte(text), &order); err != nil {
		return err
	}
	d := order.Daemon
	d.PID = os.Getpid()
	start, ok := startTime(d.PID)
	if !ok {
		return fmt.Errorf("there is no process %d in /proc", d.PID)
	}
	d.Start = start
	if err := writeRecord(order.Record, record{Daemon: &d}); err != nil {
		return err
	}
	if order.Bus != "" {
		if err := enterScope(order.Bus, scopeOf(d.Socket)); err != nil {
			fmt.Fprintln(os.Stderr, err) // whoever started us looks where we are
		}
	}
	// Namespaces are those of a thread; the one that calls exec keeps its own.
	runtime.LockOSThread()
	if d.Share.Target != "" {
		if err := moveIn(d.Share.Target); err != nil {
			return err
		}
	}
	if err := errors.Join(unix.Close(shimDir), unix.Close(shimLock)); err != nil {
		return err
	}
	// Nothing that whoever called us had open goes on to the daemon.
	if err := unix.CloseRange(shimDir, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	syscall.Umask(0o077)
	return fmt.Errorf("start %s: %w", d.Share.Command[0], syscall.Exec(d.Share.Command[0], d.Share.Command, os.Environ()))
}

// moveIn puts the directory where the daemon looks for it, for its own eyes. Mounts
// that the host makes later come through, none goes back.
func moveIn(target string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("get a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	if err := unix.MoveMount(shimDir, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount the directory on %s: %w", target, err)
	}
	return nil
}
