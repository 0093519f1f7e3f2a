package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pve"
)

// sh runs a line in a guest's shell and returns what it prints.
func (l *lab) sh(vm pve.VM, line string) string {
	l.t.Helper()
	var out string
	l.eventually(line, func(ctx context.Context) error {
		status, err := l.exec(ctx, vm, line)
		if err != nil {
			return err
		}
		if status.ExitCode != 0 {
			l.t.Fatalf("%s: exit status %d\n%s%s", line, status.ExitCode, status.Out, status.Err)
		}
		out = strings.TrimSpace(status.Out)
		return nil
	})
	return out
}

// exec runs a line in a guest's shell. It isn't run again because an agent, in a guest
// that gets little time, can't tell soon enough how it goes on.
func (l *lab) exec(ctx context.Context, vm pve.VM, line string) (pve.ExecStatus, error) {
	pid, err := vm.Agent().Exec(ctx, pve.ExecOptions{Command: []string{"/bin/sh", "-c", line}})
	if err != nil {
		return pve.ExecStatus{}, err
	}
	for {
		status, err := vm.Agent().ExecStatus(ctx, pid)
		if late := errors.Is(err, pve.ErrAgentNotRunning); status.Exited || err != nil && !late {
			return status, err
		}
		select {
		case <-ctx.Done():
			return status, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// shows waits until a line in a guest's shell prints something.
func (l *lab) shows(vm pve.VM, line, want string) {
	l.t.Helper()
	l.eventually(line, func(ctx context.Context) error {
		status, err := l.exec(ctx, vm, line)
		if err != nil {
			return err
		}
		if got := strings.TrimSpace(status.Out); got != want {
			return fmt.Errorf("prints %q, want %q %s", got, want, status.Err)
		}
		return nil
	})
}

// has fails unless a guest's line prints exactly this.
func (l *lab) has(vm pve.VM, line, want string) {
	l.t.Helper()
	if got := l.sh(vm, line); got != want {
		l.t.Errorf("%s in %d: %q, want %q", line, vm.ID, got, want)
	}
}

// as adds to a command how it finds the lab.
func (l *lab) as(command ...string) []string {
	l.t.Helper()
	file := filepath.Join(l.dir, "password")
	if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
		l.t.Fatal(err)
	}
	return append(command, "--endpoint", l.endpoint, "--fingerprint", l.print, "--username", "root@pam", "--password-file", file)
}

// memory is how much a guest's kernel has, in KiB.
func (l *lab) memory(vm pve.VM) int {
	l.t.Helper()
	var kib int
	text := l.sh(vm, "grep MemTotal /proc/meminfo")
	if _, err := fmt.Sscanf(text, "MemTotal: %d kB", &kib); err != nil {
		l.t.Fatalf("%q: %v", text, err)
	}
	return kib
}

// waitForConsole waits until a guest has printed something.
func (l *lab) waitForConsole(name, text string) {
	l.t.Helper()
	path := filepath.Join(l.dir, "qemu", "guests", fmt.Sprint(l.vm(name).ID), "serial0.log")
	l.eventually(text+" on the console", func(context.Context) error {
		log, err := os.ReadFile(path)
		if err == nil && !bytes.Contains(log, []byte(text)) {
			err = fmt.Errorf("only:\n%s", log)
		}
		return err
	})
}
