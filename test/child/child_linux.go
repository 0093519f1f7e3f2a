package child

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// DieWithUs has a command end when the process that starts it is killed.
func DieWithUs(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// Start starts a command that ends when we are killed. Linux counts the end of the
// thread that has started it as our end, and a goroutine that was locked to its thread
// takes that along when it ends: so where there are such, one thread stays for this.
func Start(cmd *exec.Cmd) error {
	DieWithUs(cmd)
	done := make(chan error)
	starter() <- func() { done <- cmd.Start() }
	return <-done
}

var starter = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})
