//go:build unix

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/proxplane/proxplane/pvesim"
)

// screen is a terminal: what is written to it is kept, and keys can be pressed.
type screen struct {
	*testing.T
	keys *os.File // our end
	tty  *os.File // the program's end

	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newScreen(t *testing.T, columns, rows uint16) *screen {
	t.Helper()
	keys, tty, err := pty.Open()
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Cols: columns, Rows: rows}); err != nil {
		t.Fatal(err)
	}
	s := &screen{T: t, keys: keys, tty: tty, more: make(chan struct{}, 1)}
	go s.read()
	t.Cleanup(func() {
		tty.Close()
		keys.Close()
	})
	return s
}

func (s *screen) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := s.keys.Read(buffer)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.text.Write(buffer[:n])
		s.mu.Unlock()
		select {
		case s.more <- struct{}{}:
		default:
		}
	}
}

func (s *screen) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// wait waits until a pattern is on the screen.
func (s *screen) wait(pattern string) {
	s.Helper()
	re := regexp.MustCompile(pattern)
	limit := time.After(time.Minute)
	for !re.MatchString(s.all()) {
		select {
		case <-s.more:
		case <-limit:
			s.Fatalf("%q didn't show up in:\n%q", pattern, s.all())
		}
	}
}

// start runs a command on the screen; the channel gives its exit status.
func (s *screen) start(ctx context.Context, l *lab, args ...string) <-chan int {
	done := make(chan int, 1)
	go func() { done <- l.ui(s.tty, s.tty, s.tty).main(ctx, args) }()
	return done
}

func TestATerminalShowsBarsAndIsAsked(t *testing.T) {
	l := ownLab(t)
	file := l.write("shop.yaml", shop)
	s := newScreen(t, 80, 24)
	if code := <-s.start(t.Context(), l, "apply", "-f", file); code != exitOK {
		t.Fatalf("apply: exit %d\n%s", code, s.all())
	}
	s.wait(`vm/web-1 +clone ubuntu-22-template`)
	s.wait(`\d of 2 ready`)
	s.wait(`\r\x1b\[32m✓\x1b\[0m vm/web-1 +\x1b\[32mready`) // from the margin, also after the ^C of Ctrl-C
	s.wait(`\x1b\[32mDone: 3 objects up to date`)
	for line := range strings.SplitSeq(s.all(), "\n") {
		if parts := strings.Split(strings.TrimRight(line, "\r"), "\r"); len(plainText(parts[len(parts)-1])) > 2*80 {
			t.Errorf("a line is too long: %q", line)
		}
	}

	no := newScreen(t, 80, 24)
	done := no.start(t.Context(), l, "delete", "-f", file)
	no.wait(`2 objects lose data or go\. Go on\? \[y/N\] `)
	fmt.Fprintln(no.keys, "n")
	if code := <-done; code != exitFailed {
		t.Errorf("no: exit %d", code)
	}
	no.wait(`nothing was changed`)

	yes := newScreen(t, 80, 24)
	done = yes.start(t.Context(), l, "delete", "-f", file)
	yes.wait(`\[y/N\] `)
	fmt.Fprintln(yes.keys, "y")
	if code := <-done; code != exitOK {
		t.Errorf("yes: exit %d\n%s", code, yes.all())
	}
}

func TestATerminalIsAskedAgainAboutWhatComesUpLater(t *testing.T) {
	l := ownLab(t)
	file := l.write("shop.yaml", shop)
	l.must("apply", "-f", file)
	lock := func(lock string) {
		l.sim.Do(func(st *pvesim.State) {
			for _, vm := range st.VMs {
				switch {
				case vm.Name() != "web-1":
				case lock == "":
					delete(vm.Conf, "lock")
				default:
					vm.Conf["lock"] = lock
				}
			}
		})
	}
	more := l.write("more.yaml", strings.ReplaceAll(strings.ReplaceAll(shop, "cpus: 2", "cpus: 4"),
		"networks:", "updatePolicy: {restart: Allow}\n  networks:"))
	for _, answer := range []string{"n", "y"} {
		lock("backup")
		s := newScreen(t, 80, 24)
		done := s.start(t.Context(), l, "apply", "-f", more)
		if answer == "n" {
			s.wait(`1 machine stops or restarts\. Go on\? \[y/N\] `) // web-2
			fmt.Fprintln(s.keys, "y")
		}
		s.wait(`vm/web-1 .*is locked \(backup\)`)
		s.wait(`waits: VM \d+ is locked`)
		lock("")
		s.wait(`There is more to do than the plan said:`)
		s.wait(`(?s)more to do.*restart VM \d+.*1 machine stops or restarts\. Go on\? \[y/N\] `)
		fmt.Fprintln(s.keys, answer)
		code := <-done
		switch {
		case answer == "n" && code != exitFailed, answer == "y" && code != exitOK:
			t.Errorf("%s: exit %d\n%s", answer, code, s.all())
		case answer == "n":
			s.wait(`✗ vm/web-1: restart VM \d+ isn't done, since it wasn't in the plan that was`)
		}
	}
	wantText(t, l.must("plan", "-f", more, "--deep"), `^Nothing to do`)
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)

func plainText(s string) string { return escapes.ReplaceAllString(s, "") }

func TestNoColourWhereItIsntWanted(t *testing.T) {
	l := ownLab(t)
	l.env["NO_COLOR"] = "1"
	s := newScreen(t, 80, 24)
	if code := <-s.start(t.Context(), l, "plan", "-f", l.write("shop.yaml", shop)); code != exitOK {
		t.Errorf("exit %d", code)
	}
	s.wait(`Plan: 2 to make`)
	if strings.Contains(s.all(), "\x1b[3") {
		t.Errorf("there are colours: %q", s.all())
	}
}

func TestAnInterruptionLosesNothing(t *testing.T) {
	l := ownLab(t)
	file := l.write("shop.yaml", shop)
	s := newScreen(t, 80, 24)
	ctx, interrupt := context.WithCancel(t.Context())
	done := s.start(ctx, l, "apply", "-f", file)
	s.wait(`vm/web-1 +clone`)
	interrupt()
	if code := <-done; code != exitInterrupted {
		t.Errorf("exit %d", code)
	}
	s.wait(`Interrupted\. Tasks that were started go on in Proxmox; running the same command`)
	wantText(t, l.must("apply", "-f", file), `^Done: 3 objects`)
	wantText(t, l.must("plan", "-f", file, "--deep"), `^Nothing to do: 3 objects`)
}

func TestAnswersAreWaitedForOnlyAsLongAsSomebodyIsThere(t *testing.T) {
	s := newScreen(t, 80, 24)
	u := newUI(s.tty, s.tty, s.tty)
	ctx, interrupt := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := u.ask(ctx, "Really?")
		answered <- err
	}()
	s.wait(`Really\? \[y/N\] `)
	interrupt()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPasswordsAreAskedForWithoutEcho(t *testing.T) {
	l := ownLab(t)
	l.env["PVE_USERNAME"], l.env["PVE_PASSWORD"] = "", ""
	s := newScreen(t, 80, 24)
	done := s.start(t.Context(), l, "get", "nodes", "--username", "root@pam")
	s.wait(`Password of root@pam: `)
	fmt.Fprintln(s.keys, "proxplane")
	if code := <-done; code != exitOK {
		t.Errorf("exit %d: %s", code, s.all())
	}
	s.wait(`pve1 +online`)
	if strings.Contains(s.all(), "proxplane") {
		t.Errorf("the password is on the screen: %q", s.all())
	}

	s = newScreen(t, 80, 24)
	done = s.start(t.Context(), l, "get", "nodes", "--username", "root@pam")
	s.wait(`Password of root@pam: `)
	fmt.Fprint(s.keys, "\x03")
	if code := <-done; code != exitInterrupted || strings.Contains(s.all(), "Error") {
		t.Errorf("Ctrl-C: exit %d: %s", code, s.all())
	}
}
