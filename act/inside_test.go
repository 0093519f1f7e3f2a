package act_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/guestos"
)

// boot starts the guest with an agent, and waits until that answers.
func (l *lab) boot() {
	l.t.Helper()
	l.must(model.Start{Target: at(103)})
	time.Sleep(time.Minute) // virtual
}

func TestProgramsRunAndFilesAreReadInsideAGuest(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.boot()
		run := func(input string, command ...string) model.Ran {
			t.Helper()
			res, err := l.actor.Do(t.Context(), model.Exec{Target: at(103), Owner: inner, Command: command, Input: []byte(input)}, act.Known{})
			if err != nil || res.PID == 0 {
				t.Fatalf("%+v, %v", res, err)
			}
			ran, err := l.actor.Ran(t.Context(), at(103), res.PID)
			if err != nil {
				t.Fatal(err)
			}
			return ran
		}
		if ran := run("hello\n", "sh", "-c", "cat > /root/note"); ran != (model.Ran{}) {
			t.Errorf("%+v", ran)
		}
		if ran := run("", "sh", "-c", "cat /root/note; exit 3"); ran.Code != 3 || ran.Out != "hello\n" || ran.Err != "" || ran.Cut {
			t.Errorf("%+v", ran)
		}
		res, err := l.actor.Do(t.Context(), model.ReadFile{Target: at(103), Owner: inner, File: "/root/note"}, act.Known{})
		if err != nil || string(res.Content) != "hello\n" || res.Cut {
			t.Errorf("%q, cut %v, %v", res.Content, res.Cut, err)
		}
		_, err = l.actor.Do(t.Context(), model.ReadFile{Target: at(103), Owner: inner, File: "/root/other"}, act.Known{})
		if !errors.Is(err, pve.ErrNotFound) || !strings.HasPrefix(err.Error(), "read /root/other in VM 103") {
			t.Errorf("no file: %v", err)
		}
		if _, err := l.actor.Ran(t.Context(), at(103), 99999); err == nil {
			t.Error("a program that was never started has ended")
		}
	})
}

// Proxmox leaves out what is beyond 16 MiB.
func TestOutputThatIsLeftOutIsReported(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 16<<20+1)
	for name, fill := range map[string]func(*guestos.Exec){"output": func(e *guestos.Exec) { e.Out = long }, "errors": func(e *guestos.Exec) { e.Err = long }} {
		inLab(t, "9.2", func(t *testing.T, l *lab) {
			l.boot()
			res, err := l.actor.Do(t.Context(), model.Exec{Target: at(103), Owner: inner, Command: []string{"true"}}, act.Known{})
			if err != nil {
				t.Fatal(err)
			}
			l.sim.Do(func(s *pvesim.State) { fill(s.VMs[103].Run.Guest.Execs[res.PID]) })
			if ran, err := l.actor.Ran(t.Context(), at(103), res.PID); err != nil || !ran.Cut || len(ran.Out)+len(ran.Err) >= len(long) {
				t.Errorf("%s: cut %v, %v", name, ran.Cut, err)
			}
		})
	}
}

func TestNobodyReachesIntoGuestsOfOthers(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.boot()
		before := l.asked("/agent")
		for reason, owner := range map[string]model.Owner{"another one's": us, "nobody is expected": {}} {
			for _, a := range []model.Action{
				model.Exec{Target: at(103), Owner: owner, Command: []string{"true"}}, model.ReadFile{Target: at(103), Owner: owner, File: "/etc/hostname"},
			} {
				if res, err := l.actor.Do(t.Context(), a, act.Known{}); !errors.Is(err, act.ErrNotOurs) || res.PID != 0 || res.Content != nil {
					t.Errorf("%s: %+v, %v", reason, res, err)
				}
			}
		}
		if n := l.asked("/agent") - before; n != 0 {
			t.Errorf("its agent was asked %d times", n)
		}
	})
}
