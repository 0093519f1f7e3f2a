package guest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is proxplane at work in a terminal of its own.
type terminal struct {
	t   *testing.T
	cmd *exec.Cmd
	tty *os.File

	mu     sync.Mutex
	screen strings.Builder
	more   chan struct{}
	ended  chan struct{}
}

// sleeps is typed to have something to interrupt. A shell at its prompt may be interrupted
// between two commands and go on with the second; one that runs a script ends whenever it is.
const sleeps = "sh -c 'echo sleeps; sleep 1000'\r"

// terminal starts a command.
func (l *lab) terminal(args ...string) *terminal {
	l.t.Helper()
	program, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	tm := &terminal{t: l.t, cmd: exec.CommandContext(l.t.Context(), program, args...), more: make(chan struct{}, 1), ended: make(chan struct{})}
	tm.cmd.Env = append(os.Environ(), asCommand+"=1", "HOME="+l.dir)
	if tm.tty, err = pty.StartWithSize(tm.cmd, &pty.Winsize{Rows: 30, Cols: 100}); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = tm.tty.Close() })
	go tm.read()
	return tm
}

func (tm *terminal) read() {
	defer close(tm.ended)
	buf := make([]byte, 4096)
	for {
		n, err := tm.tty.Read(buf)
		tm.mu.Lock()
		tm.screen.Write(buf[:n])
		tm.mu.Unlock()
		select {
		case tm.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (tm *terminal) text() string {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	return tm.screen.String()
}

// shows waits until a text is on the screen.
func (tm *terminal) shows(text string) {
	tm.t.Helper()
	deadline := time.After(*patience)
	for !strings.Contains(tm.text(), text) {
		select {
		case <-tm.more:
		case <-tm.ended:
			if !strings.Contains(tm.text(), text) {
				tm.t.Fatalf("it ended without showing %q:\n%s", text, tm.text())
			}
		case <-deadline:
			tm.t.Fatalf("%q isn't on the screen:\n%s", text, tm.text())
		}
	}
}

func (tm *terminal) types(keys string) {
	tm.t.Helper()
	if _, err := tm.tty.WriteString(keys); err != nil {
		tm.t.Fatal(err)
	}
}

// ends waits for the end and returns the exit status.
func (tm *terminal) ends() int {
	tm.t.Helper()
	select {
	case <-tm.ended:
	case <-time.After(*patience):
		tm.t.Fatalf("it doesn't end:\n%s", tm.text())
	}
	_ = tm.cmd.Wait() // the status says it
	return tm.cmd.ProcessState.ExitCode()
}

func TestTheSerialConsoleIsTheGuests(t *testing.T) {
	t.Parallel()
	l := newLab(t, tinyWorld(t))
	l.apply(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: typist}
spec:
  classRef: {name: small}
  imageRef: {name: tiny}
  networks: [{name: lan, bridge: vmbr0}]
  agent: {waitForAddress: true}
`)
	l.waitForConsole("typist", "tiny# ")
	tm := l.terminal(l.as("console", "typist", "--serial")...)
	tm.shows("Attached to serial0 of typist")
	tm.types("\r")
	tm.shows("tiny# ")
	tm.types("echo $((6*7)) $(hostname) > /run/typed; cat /run/typed\r")
	tm.shows("42 ")
	// What is typed goes to the guest, keys that end things here included.
	tm.types(sleeps)
	tm.shows("\r\nsleeps\r\n")
	tm.types("\x03")
	tm.types("echo again\r")
	tm.shows("\r\nagain\r\n")
	tm.types("\x1d")
	tm.shows("Left typist")
	if code := tm.ends(); code != 0 {
		t.Errorf("exit status %d\n%s", code, tm.text())
	}
	l.has(l.vm("typist"), "cut -d' ' -f1 /run/typed", fmt.Sprint(6*7))
}
