package child

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Start starts a command that ends when we are killed. Linux counts the end of the
// thread that has started it as our end, and goroutines that are locked to their thread
// take that along when they end: so one that stays starts them all.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
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
