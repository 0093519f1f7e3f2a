//go:build linux

package hook

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startTime is when a process was started, in ticks since the machine was; of
// one that has ended there is none.
func startTime(pid int) (uint64, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// The name of the program, in parentheses, may have blanks.
	_, rest, _ := strings.Cut(string(text[max(0, strings.LastIndexByte(string(text), ')')):]), " ")
	fields := strings.Fields(rest)
	const state, threads, start = 0, 17, 19
	if len(fields) <= start || fields[state] == "X" {
		return 0, false
	}
	// Of one that is being killed, the first thread may have ended while others
	// still hold its files.
	if fields[state] == "Z" && (fields[threads] == "0" || fields[threads] == "1") {
		return 0, false
	}
	ticks, err := strconv.ParseUint(fields[start], 10, 64)
	return ticks, err == nil
}

func (d *daemon) alive() bool {
	start, ok := startTime(d.PID)
	return ok && d.PID > 1 && start == d.Start
}

// stop ends a daemon and what it started, and reports whether it ran.
func (d *daemon) stop() (ran bool, err error) {
	if !d.alive() {
		return false, nil
	}
	for _, s := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{
		{syscall.SIGTERM, 5 * time.Second},
		{syscall.SIGKILL, time.Minute}, // nothing can refuse it, and a busy host may take its time
	} {
		// It leads a group of its own.
		if err := syscall.Kill(-d.PID, s.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return true, fmt.Errorf("stop virtiofsd %d: %w", d.PID, err)
		}
		const every = 10 * time.Millisecond
		for waited := time.Duration(0); waited < s.patience; waited += every {
			if !d.alive() {
				return true, nil
			}
			time.Sleep(every)
		}
	}
	return true, fmt.Errorf("virtiofsd %d doesn't end", d.PID)
}

// listening reports whether somebody takes connections at a socket. Connecting
// would tell, too, but a virtiofsd serves its first caller only.
func listening(socket string) bool {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		// Num RefCount Protocol Flags Type St Inode Path
		fields := strings.SplitN(strings.Join(strings.Fields(line), " "), " ", 8)
		const acceptsConnections = 0x10000
		if len(fields) == 8 && fields[7] == socket {
			if flags, err := strconv.ParseUint(fields[3], 16, 64); err == nil && flags&acceptsConnections != 0 {
				return true
			}
		}
	}
	return false
}

// vmRuns reports whether a VM's QEMU is there.
func (h *Host) vmRuns(vmid int) bool {
	text, err := os.ReadFile(h.path("/run/qemu-server", fmt.Sprintf("%d.pid", vmid)))
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return false
	}
	_, ok := startTime(pid)
	return ok
}
