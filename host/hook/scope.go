//go:build linux

package hook

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Proxmox calls hooks from a service of its own, and whatever they start ends when
// that service is restarted, as with every update. So daemons get a scope of
// their own in systemd, beside those of the VMs.

// busctl is the program that talks to systemd.
const busctl = "/usr/bin/busctl"

// systemdBus is how systemd is talked to; empty: it isn't there.
func systemdBus() string {
	if _, err := os.Stat("/run/systemd/system"); err != nil || os.Geteuid() != 0 {
		return ""
	}
	return busctl
}

// scopeOf is the name of a daemon's scope.
func scopeOf(socket string) string { return "proxplane-" + filepath.Base(socket) + ".scope" }

// scopeCommand asks for a scope with the properties that Proxmox gives those of
// VMs: it isn't stopped before the guests are.
func scopeCommand(bus, scope string, pid int) []string {
	command := []string{
		bus, "--system", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
		"StartTransientUnit", "ssa(sv)a(sa(sv))", scope, "fail",
	}
	properties := [][]string{
		{"PIDs", "au", "1", strconv.Itoa(pid)},
		{"Description", "s", "virtiofs share of a Proxmox VE VM"},
		{"Slice", "s", "qemu.slice"},
		{"CollectMode", "s", "inactive-or-failed"},
		{"KillMode", "s", "process"},
		{"SendSIGKILL", "b", "false"},
		{"TimeoutStopUSec", "t", "18446744073709551615"},
		{"After", "as", "1", "dbus.service"},
		{"Before", "as", "2", "pve-ha-lrm.service", "pve-guests.service"},
	}
	command = append(command, strconv.Itoa(len(properties)))
	for _, p := range properties {
		command = append(command, p...)
	}
	return append(command, "0")
}

// enterScope moves this process into a scope. Systemd does it some time after
// it has said yes.
func enterScope(bus, scope string) error {
	pid := os.Getpid()
	command := scopeCommand(bus, scope, pid)
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", scope, err, strings.TrimSpace(string(out)))
	}
	const patience, every = 2 * time.Second, 5 * time.Millisecond
	for waited := time.Duration(0); !inScope(pid, scope); waited += every {
		if waited >= patience {
			return fmt.Errorf("%s: systemd has taken us nowhere", scope)
		}
		time.Sleep(every)
	}
	return nil
}

func inScope(pid int, scope string) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	return err == nil && strings.Contains(string(text), "/"+scope)
}
