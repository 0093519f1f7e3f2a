//go:build unix

package sshserver

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalName is a signal as SSH names it.
func signalName(s syscall.Signal) string { return strings.TrimPrefix(unix.SignalName(s), "SIG") }
