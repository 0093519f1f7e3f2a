//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/screen"
)

// startOn runs a command on the screen; the channel gives its exit status.
func startOn(ctx context.Context, s *screen.Screen, l *lab, args ...string) <-chan int {
	done := make(chan int, 1)
	go func() { done <- Execute(ctx, l.ui(s.TTY, s.TTY, s.TTY), args) }()
	return done
}

func TestATerminalShowsBarsAndIsAsked(t *testing.T) {
	l := ownLab(t)
	file := l.write("shop.yaml", shop)
	s := screen.New(t, 80, 24)
	if code := <-startOn(t.Context(), s, l, "apply", "-f", file); code != ui.ExitOK {
		t.Fatalf("apply: exit %d\n%s", code, s.All())
	}
	s.Wait(`vm/web-1 +clone ubuntu-22-template`)
	s.Wait(`\d of 2 ready`)
	s.Wait(`\r\x1b\[32m✓\x1b\[0m vm/web-1 +\x1b\[32mready`) // from the margin, also after the ^C of Ctrl-C
	s.Wait(`\x1b\[32mDone: 3 objects up to date`)
	for line := range strings.SplitSeq(s.All(), "\n") {
		if parts := strings.Split(strings.TrimRight(line, "\r"), "\r"); len(plainText(parts[len(parts)-1])) > 2*80 {
			t.Errorf("a line is too long: %q", line)
		}
	}

	no := screen.New(t, 80, 24)
	done := startOn(t.Context(), no, l, "delete", "-f", file)
	no.Wait(`2 objects lose data or go\. Go on\? \[y/N\] `)
	fmt.Fprintln(no.Keys, "n")
	if code := <-done; code != ui.ExitFailed {
		t.Errorf("no: exit %d", code)
	}
	no.Wait(`nothing was changed`)

	yes := screen.New(t, 80, 24)
	done = startOn(t.Context(), yes, l, "delete", "-f", file)
	yes.Wait(`\[y/N\] `)
	fmt.Fprintln(yes.Keys, "y")
	if code := <-done; code != ui.ExitOK {
		t.Errorf("yes: exit %d\n%s", code, yes.All())
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
		s := screen.New(t, 80, 24)
		// web-2 needn't wait for web-1, of which nobody knows yet whether it is ready.
		done := startOn(t.Context(), s, l, "apply", "-f", more, "--max-unavailable", "2")
		if answer == "n" {
			s.Wait(`1 machine stops or restarts\. Go on\? \[y/N\] `) // web-2
			fmt.Fprintln(s.Keys, "y")
		}
		s.Wait(`vm/web-1 .*is locked \(backup\)`)
		s.Wait(`waits: VM \d+ is locked`)
		lock("")
		s.Wait(`There is more to do than the plan said:`)
		s.Wait(`(?s)more to do.*restart VM \d+.*1 machine stops or restarts\. Go on\? \[y/N\] `)
		fmt.Fprintln(s.Keys, answer)
		code := <-done
		switch {
		case answer == "n" && code != ui.ExitFailed, answer == "y" && code != ui.ExitOK:
			t.Errorf("%s: exit %d\n%s", answer, code, s.All())
		case answer == "n":
			s.Wait(`✗ vm/web-1: restart VM \d+ isn't done, since it wasn't in the plan that was`)
		}
	}
	wantText(t, l.must("plan", "-f", more, "--deep"), `^Nothing to do`)
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)

func plainText(s string) string { return escapes.ReplaceAllString(s, "") }

func TestNoColourWhereItIsntWanted(t *testing.T) {
	l := ownLab(t)
	l.env["NO_COLOR"] = "1"
	s := screen.New(t, 80, 24)
	if code := <-startOn(t.Context(), s, l, "plan", "-f", l.write("shop.yaml", shop)); code != ui.ExitOK {
		t.Errorf("exit %d", code)
	}
	s.Wait(`Plan: 2 to make`)
	if strings.Contains(s.All(), "\x1b[3") {
		t.Errorf("there are colours: %q", s.All())
	}
}

func TestAnInterruptionLosesNothing(t *testing.T) {
	l := ownLab(t)
	file := l.write("shop.yaml", shop)
	s := screen.New(t, 80, 24)
	ctx, interrupt := context.WithCancel(t.Context())
	done := startOn(ctx, s, l, "apply", "-f", file)
	s.Wait(`vm/web-1 +clone`)
	interrupt()
	if code := <-done; code != ui.ExitInterrupted {
		t.Errorf("exit %d", code)
	}
	s.Wait(`Interrupted\. Tasks that were started go on in Proxmox; running the same command`)
	wantText(t, l.must("apply", "-f", file), `^Done: 3 objects`)
	wantText(t, l.must("plan", "-f", file, "--deep"), `^Nothing to do: 3 objects`)
}

func TestAnswersAreWaitedForOnlyAsLongAsSomebodyIsThere(t *testing.T) {
	s := screen.New(t, 80, 24)
	u := ui.New(s.TTY, s.TTY, s.TTY)
	ctx, interrupt := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := u.Ask(ctx, "Really?")
		answered <- err
	}()
	s.Wait(`Really\? \[y/N\] `)
	interrupt()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPasswordsAreAskedForWithoutEcho(t *testing.T) {
	l := ownLab(t)
	l.env["PVE_USERNAME"], l.env["PVE_PASSWORD"] = "", ""
	s := screen.New(t, 80, 24)
	done := startOn(t.Context(), s, l, "get", "nodes", "--username", "root@pam")
	s.Wait(`Password of root@pam: `)
	fmt.Fprintln(s.Keys, "proxplane")
	if code := <-done; code != ui.ExitOK {
		t.Errorf("exit %d: %s", code, s.All())
	}
	s.Wait(`pve1 +online`)
	if strings.Contains(s.All(), "proxplane") {
		t.Errorf("the password is on the screen: %q", s.All())
	}
	if strings.Contains(s.All(), `\u`) {
		t.Errorf("the end of the line is written out: %q", s.All())
	}

	s = screen.New(t, 80, 24)
	done = startOn(t.Context(), s, l, "get", "nodes", "--username", "root@pam")
	s.Wait(`Password of root@pam: `)
	fmt.Fprint(s.Keys, "\x03")
	if code := <-done; code != ui.ExitInterrupted || strings.Contains(s.All(), "Error") {
		t.Errorf("Ctrl-C: exit %d: %s", code, s.All())
	}
}
