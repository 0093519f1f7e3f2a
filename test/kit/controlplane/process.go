package controlplane

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/proxplane/proxplane/test/kit/child"
)

// process is a program that runs.
type process struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{}
}

func start(dir, path string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), log: filepath.Join(dir, filepath.Base(path)+".log"), ended: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if err := child.Start(p.cmd); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // what it said is in its log
		close(p.ended)
	}()
	return p, nil
}

// Pids are the programs that run, by their names.
func (p *Plane) Pids() map[string]int {
	pids := map[string]int{}
	for _, one := range append([]*process{p.etcd, p.api}, p.more...) {
		if one != nil {
			pids[filepath.Base(one.cmd.Path)] = one.cmd.Process.Pid
		}
	}
	return pids
}

// stop ends the process, at once if it takes too long.
func (p *process) stop() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// kill ends the process at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// lastWords are the end of what the process said.
func (p *process) lastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
