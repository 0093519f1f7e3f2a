package operator_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/proxplane/proxplane/test/kit/child"
)

// process is an operator that runs.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

// Write collects what it says.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// operate starts an operator for the story's namespace.
func (s *story) operate(flags ...string) *process {
	s.t.Helper()
	p := &process{name: fmt.Sprintf("operator %d", len(s.operators)+1), done: make(chan struct{})}
	p.cmd = exec.Command(self(s.t), append([]string{
		"operator", "--namespace", s.namespace, "--leader-namespace", s.namespace, "--metrics-address", "", "--health-address", "",
		"--lease-duration", "15s", "--renew-deadline", "12s", "--retry-period", "500ms",
	}, flags...)...)
	p.cmd.Env = slices.Concat(os.Environ(), []string{asProxplane + "=1", "KUBECONFIG=" + plane.Kubeconfig, "LOG_LEVEL=warn"}, s.env)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if err := child.Start(p.cmd); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // what it said is shown
		close(p.done)
	}()
	s.operators = append(s.operators, p)
	return p
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// stop asks the operator to end, and waits for it.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	<-p.done
}

// kill ends it in the middle of whatever it does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}
