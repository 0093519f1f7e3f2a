package controlplane

import (
	"os/exec"
	"syscall"
)

// dieWithUs ends a process when the one that started it is killed.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
