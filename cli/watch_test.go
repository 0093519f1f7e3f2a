package cli

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/pvesim"
)

// tape is what somebody else writes, for reading meanwhile.
type tape struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newTape() *tape { return &tape{more: make(chan struct{}, 1)} }

func (t *tape) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case t.more <- struct{}{}:
	default:
	}
	return t.text.Write(p)
}

func (t *tape) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// wait waits until a text was written.
func (t *tape) wait(test *testing.T, text string) {
	test.Helper()
	limit := time.After(time.Minute)
	for !strings.Contains(t.String(), text) {
		select {
		case <-t.more:
		case <-limit:
			test.Fatalf("%q didn't come in:\n%s", text, t)
		}
	}
}

func TestWatchingShowsWhatChanges(t *testing.T) {
	l := ownLab(t)
	l.must("clone", "ubuntu-22-template", "one")
	for _, format := range []string{"", "json", "yaml"} {
		ctx, stop := context.WithCancel(t.Context())
		out, done := newTape(), make(chan int, 1)
		go func() {
			done <- Execute(ctx, l.ui(strings.NewReader(""), out, out), []string{"get", "vms", "--watch", "--interval", "20ms", "-o", format})
		}()
		out.wait(t, "one")
		l.must("clone", "ubuntu-22-template", "two")
		out.wait(t, "two")
		l.must("delete", "vm/two", "--yes")
		out.wait(t, "gone")
		stop()
		if code := <-done; code != ui.ExitInterrupted {
			t.Errorf("-o %s: exit %d\n%s", format, code, out)
		}
		if n := len(regexp.MustCompile(`\bone\b`).FindAllString(out.String(), -1)); n > 3 {
			t.Errorf("-o %s: what doesn't change is told %d times:\n%s", format, n, out)
		}
	}
}

func TestWatchingAndWaitingOutlastTimesWithoutProxmox(t *testing.T) {
	l := ownLab(t)
	l.must("clone", "ubuntu-22-template", "one")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	start := func(args ...string) (*tape, chan int) {
		out, done := newTape(), make(chan int, 1)
		go func() { done <- Execute(ctx, l.ui(strings.NewReader(""), out, out), args) }()
		return out, done
	}
	watch, watched := start("get", "vms", "--watch", "--interval", "20ms")
	wait, waited := start("wait", "vm/one", "--for", "gone", "--timeout", "0")
	watch.wait(t, "one")
	wait.wait(t, "still there")
	const several = 32 // looks of both, each of which is tried four times
	if _, err := l.sim.AddFault(pvesim.Fault{Path: "/cluster/resources", Drop: "before", Times: several}); err != nil {
		t.Fatal(err)
	}
	for _, out := range []*tape{watch, wait} {
		out.wait(t, "Proxmox answers again")
	}
	l.must("delete", "vm/one", "--yes")
	watch.wait(t, "gone")
	if code := <-waited; code != 0 {
		t.Errorf("wait ends with %d:\n%s", code, wait)
	}
	stop()
	<-watched
	for _, out := range []*tape{watch, wait} {
		if strings.Count(out.String(), "can't be asked") != 1 || strings.Count(out.String(), "answers again") != 1 {
			t.Errorf("it isn't told just once:\n%s", out)
		}
	}
}

func TestTheTimeThatWasGivenIsOver(t *testing.T) {
	l := ownLab(t)
	file := l.write("shop.yaml", shop)
	code, out, stderr := l.run("apply", "-f", file, "--timeout", "30ms")
	if code != ui.ExitFailed {
		t.Errorf("exit %d", code)
	}
	if !strings.Contains(stderr, "30ms") {
		t.Errorf("it isn't said why:\n%s%s", out, stderr)
	}
	if strings.Contains(out, "Done:") {
		t.Errorf("it says that it is done:\n%s", out)
	}
	// Not even the first list comes: nothing is known, and nothing is green.
	code, out, stderr = l.run("apply", "-f", file, "--timeout", "1ns", "-o", "json")
	if code != ui.ExitFailed || strings.Contains(out, `"converged":true`) || !strings.Contains(stderr, "Nothing was begun") {
		t.Errorf("exit %d:\n%s%s", code, out, stderr)
	}
	wantText(t, l.must("apply", "-f", file), `^Done: 3 objects`)
}
