package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
)

// cutOff is a machine in which a program was started when somebody interrupted proxplane. It goes on without it.
type cutOff struct {
	inside
	stop    context.CancelFunc
	service string // what has become of it
}

func (c *cutOff) Run(ctx context.Context, g *model.Guest, command []string, input string) (Ran, error) {
	line := strings.Join(command, " ")
	if !strings.Contains(line, "systemctl stop") {
		return c.inside.Run(ctx, g, command, input)
	}
	c.stop()
	c.service = "stopped"
	if strings.Contains(line[strings.Index(line, "systemctl stop"):], "systemctl start") {
		c.service = "started"
	}
	return Ran{}, ctx.Err()
}

// A service that stays stopped can't be gone on with: without it no control plane may answer.
func TestRotationThatIsInterruptedLeavesNoServiceStopped(t *testing.T) {
	f := &File{Name: "lab"}
	f.Fill()
	ctx, stop := context.WithCancel(t.Context())
	in := &cutOff{stop: stop}
	m := Member{Node: Node{Name: "lab-worker-0", Pool: WorkerPool}, Guest: &model.Guest{Name: "lab-worker-0", Status: model.StatusRunning}}
	c := &Cluster{Name: "lab", Record: Record{File: f}, Members: []Member{m}, in: in}
	if err := (&Work{In: in, Report: quiet{}, Patience: time.Hour}).rotate(ctx, c, &m); err == nil {
		t.Error("it says that it is done")
	}
	if in.service != "started" {
		t.Errorf("the service is %q", in.service)
	}
}
