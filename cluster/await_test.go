package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// inside is what a machine says when it is asked.
type inside struct {
	phase   string // empty: there is no such file
	cloud   string // of cloud-init
	nodes   string
	renewed time.Time
	err     error
}

func (i inside) Run(_ context.Context, _ *model.Guest, command []string, _ string) (Ran, error) {
	line := strings.Join(command, " ")
	switch {
	case i.err != nil:
		return Ran{}, i.err
	case line == "cat "+phaseFile && i.phase == "":
		return Ran{Code: 1}, nil
	case line == "cat "+phaseFile:
		return Ran{Out: i.phase}, nil
	case strings.HasPrefix(line, "cloud-init"):
		return Ran{Out: "status: " + i.cloud}, nil
	case strings.HasSuffix(line, "get nodes -o json"):
		return Ran{Out: i.nodes}, nil
	case strings.Contains(line, "get lease"):
		return Ran{Out: fmt.Sprintf(`{"spec": {"renewTime": %q}}`, i.renewed.Format("2006-01-02T15:04:05.000000Z07:00"))}, nil
	case strings.HasPrefix(line, "journalctl"):
		return Ran{Out: "a line of the journal"}, nil
	}
	return Ran{Code: 1, Err: "not known: " + line}, nil
}

func (i inside) ReadFile(context.Context, *model.Guest, string) (string, error) { return "", i.err }
func (i inside) WriteFile(context.Context, *model.Guest, string, string) error  { return i.err }

func TestWhatAMachineWaitsFor(t *testing.T) {
	const none, ready = `{"items": []}`, `{"items": [{"metadata": {"name": "lab-cp-0"}, "status": {"nodeInfo": {"kubeletVersion": "v1.30.4+rke2r1"}, "conditions": [{"type": "Ready", "status": "True"}, {"type": "EtcdIsVoter", "status": "True"}]}}]}`
	now := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		why   string
		in    inside
		e     expected
		ready bool
		waits string
	}{
		{"it installs", inside{phase: "fetching rke2", nodes: none}, expected{}, false, "its installation: fetching rke2"},
		{"it boots for the first time", inside{cloud: "running", nodes: none}, expected{}, false, "cloud-init (status: running)"},
		{"it has joined", inside{phase: "started rke2", nodes: ready}, expected{}, true, ""},
		{"it has booted again: its phase is gone, and cloud-init has nothing to do", inside{cloud: "done", nodes: ready}, expected{}, true, ""},
		{"it has booted again, and its service starts", inside{cloud: "done", nodes: none}, expected{}, false, "rke2-server: a line of the journal"},
		{"another version", inside{phase: "started rke2", nodes: ready}, expected{version: "v1.31.1+rke2r1"}, false, "v1.31.1+rke2r1 to run, it has v1.30.4+rke2r1"},
		{"what is known of it is older than its restart", inside{phase: "started rke2", nodes: ready, renewed: now.Add(-time.Microsecond)}, expected{since: map[string]time.Time{"lab-cp-0": now}}, false, "its kubelet to report again"},
		{"it has reported since", inside{phase: "started rke2", nodes: ready, renewed: now}, expected{since: map[string]time.Time{"lab-cp-0": now}}, true, ""},
		{"no agent", inside{err: pve.ErrAgentNotRunning}, expected{}, false, "its guest agent"},
	} {
		m := Member{Node: Node{Name: "lab-cp-0", Pool: controlPool}, Guest: &model.Guest{Status: model.StatusRunning}}
		f := &File{Name: "lab"}
		f.Fill()
		cluster := &Cluster{Name: "lab", Record: Record{File: f}, Members: []Member{m}, in: c.in}
		have, waits, err := (&Work{In: c.in}).look(t.Context(), cluster, &m, c.e)
		if have != c.ready || waits != c.waits || err != nil {
			t.Errorf("%s: ready %t, waits for %q, %v; want %t, %q", c.why, have, waits, err, c.ready, c.waits)
		}
	}
}

// Whoever may not use the guest agent is told so, rather than kept waiting.
func TestAMissingPrivilegeEndsTheWait(t *testing.T) {
	f := &File{Name: "lab"}
	f.Fill()
	m := Member{Node: Node{Name: "lab-cp-0", Pool: controlPool}, Guest: &model.Guest{Status: model.StatusRunning}}
	in := inside{err: fmt.Errorf("run cat: %w", pve.ErrForbidden)}
	w := &Work{In: in, Patience: time.Hour}
	if err := w.awaitAll(t.Context(), &Cluster{Name: "lab", Record: Record{File: f}, Members: []Member{m}, in: in}, []Node{m.Node}, expected{}); !errors.Is(err, pve.ErrForbidden) {
		t.Errorf("it gives %v", err)
	}
}

// failedBefore are machines whose installation had failed, and which install what they are to when they are asked again.
type failedBefore struct {
	inside
	mu        sync.Mutex
	installed map[string]bool
}

func (f *failedBefore) Run(ctx context.Context, g *model.Guest, command []string, input string) (Ran, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	in := f.inside
	switch line := strings.Join(command, " "); {
	case line == "rm -f "+imagesFile:
		return Ran{}, nil
	case line == nodeProgram:
		f.installed[g.Name] = true
		return Ran{}, nil
	case f.installed[g.Name]:
		in.phase = "started rke2"
	default:
		in.phase = "failed: no such file"
	}
	return in.Run(ctx, g, command, input)
}

type quiet struct{}

func (quiet) Doing(string, string) {}
func (quiet) Done(string, string)  {}

// TestMachinesThatInstallAgainAreKnownByTheNewRelease: all of them read the members of the cluster meanwhile.
func TestMachinesThatInstallAgainAreKnownByTheNewRelease(t *testing.T) {
	f := &File{Name: "lab"}
	f.Fill()
	c := &Cluster{Name: "lab", Record: Record{File: f}}
	again, nodes := map[string]Release{}, []Node{}
	list := corev1.NodeList{}
	for i := range 4 {
		n := Node{Name: fmt.Sprint("lab-worker-", i), Pool: WorkerPool}
		if i == 0 {
			n = Node{Name: "lab-cp-0", Pool: controlPool}
		}
		c.Members = append(c.Members, Member{Node: n, Guest: &model.Guest{Name: n.Name, Status: model.StatusRunning}})
		list.Items = append(list.Items, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}})
		if i > 0 {
			nodes, again[n.Name] = append(nodes, n), Release{Version: "v1.30.4+rke2r1"}
		}
	}
	ready, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	in := &failedBefore{inside: inside{nodes: string(ready)}, installed: map[string]bool{"lab-cp-0": true}}
	c.in = in
	if err := (&Work{In: in, Report: quiet{}, Patience: time.Hour}).awaitAll(t.Context(), c, nodes, expected{again: again}); err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Members {
		if m.Release != again[m.Name] {
			t.Errorf("%s is known by %+v", m.Name, m.Release)
		}
	}
}
