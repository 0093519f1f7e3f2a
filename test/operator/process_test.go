package operator_test

import (
	"context"
	"fmt"
	"os/exec"
	"testing"

	"github.com/proxplane/proxplane/test/kit/child"
	"github.com/proxplane/proxplane/test/kit/itself"
)

// operate starts an operator for the story's namespace.
func (s *story) operate(flags ...string) *child.Process {
	s.t.Helper()
	cmd := proxplane(context.Background(), s.t, append([]string{
		"operator", "--namespace", s.namespace, "--leader-namespace", s.namespace, "--metrics-address", "", "--health-address", "",
		"--lease-duration", "15s", "--renew-deadline", "12s", "--retry-period", "500ms",
	}, flags...)...)
	cmd.Env = append(append(cmd.Env, "KUBECONFIG="+plane.Kubeconfig, "LOG_LEVEL=warn"), s.env...)
	p, err := child.Watch(fmt.Sprintf("operator %d", len(s.operators)+1), cmd)
	if err != nil {
		s.t.Fatal(err)
	}
	s.operators = append(s.operators, p)
	return p
}

// proxplane is a command of it.
func proxplane(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd, err := itself.Command(ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}
