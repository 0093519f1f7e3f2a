//go:build unix

package ssh

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/host/ssh/sshtest"
)

func TestSessionsHaveATerminal(t *testing.T) {
	s := sshtest.Start(t)
	c := dial(t, s, known(s))
	resized := make(chan Size)
	var out lines
	out.got = make(chan string, 100)
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer typed.Close()
	type end struct {
		status int
		err    error
	}
	ended := make(chan end)
	go func() {
		status, err := c.Session(t.Context(), Session{
			Command: `echo "$TERM $(stty size)"; until [ "$(stty size)" = "40 120" ]; do sleep 0.01; done; echo resized; read x; echo "read $x"; exit 7`, In: in, Out: &out, Err: &out,
			Terminal: &Terminal{Type: "vt100", Columns: 99, Rows: 33, Resized: resized},
		})
		ended <- end{status, err}
	}()
	out.want(t, "vt100 33 99")
	resized <- Size{Columns: 120, Rows: 40}
	out.want(t, "resized")
	if _, err := typed.WriteString("go on\n"); err != nil {
		t.Fatal(err)
	}
	out.want(t, "read go on")
	if got := <-ended; got.status != 7 || got.err != nil {
		t.Errorf("ended with %+v", got)
	}
}

// lines hands out what is written line by line.
type lines struct {
	got  chan string
	rest string
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest += string(p)
	for {
		line, rest, ok := strings.Cut(l.rest, "\n")
		if !ok {
			return len(p), nil
		}
		l.got <- strings.TrimSpace(line)
		l.rest = rest
	}
}

func (l *lines) want(t *testing.T, text string) {
	t.Helper()
	for {
		select {
		case line := <-l.got:
			if line == text {
				return
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%q doesn't come", text)
		}
	}
}
