package child

import (
	"os/exec"
	"syscall"
)

// DieWithUs has a command end when the process that starts it is killed.
func DieWithUs(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
