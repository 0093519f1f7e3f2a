//go:build !unix

package sshserver

import "syscall"

func signalName(s syscall.Signal) string { return s.String() }
