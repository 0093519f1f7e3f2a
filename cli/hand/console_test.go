//go:build unix

package hand

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/test/kit/screen"
)

// echo is a console that repeats what is typed in brackets.
type echo struct {
	*io.PipeReader
	to      *io.PipeWriter
	resized chan string
}

func newEcho() *echo {
	r, w := io.Pipe()
	return &echo{r, w, make(chan string, 8)}
}

func (e *echo) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	_, err := fmt.Fprintf(e.to, "[%s]", p)
	return len(p), err
}

func (e *echo) Resize(columns, rows int) error {
	e.resized <- fmt.Sprintf("%dx%d", columns, rows)
	return nil
}

func TestASerialConsoleIsLeftWithAKey(t *testing.T) {
	for _, key := range []string{"\x1d", "\x0f"} {
		s := screen.New(t, 100, 30)
		u := ui.New(s.TTY, s.TTY, s.TTY)
		far := newEcho()
		done := make(chan error, 1)
		go func() { done <- converse(t.Context(), u, far) }()
		if size := <-far.resized; size != "100x30" {
			t.Errorf("the screen is said to be %s", size)
		}
		fmt.Fprint(s.Keys, "ls\r")
		s.Wait(`\[ls\r\]`)
		fmt.Fprint(s.Keys, "\x03") // Ctrl-C is the guest's
		s.Wait("\\[\x03\\]")
		fmt.Fprint(s.Keys, key)
		if err := <-done; err != nil {
			t.Error(err)
		}
		far.to.Close()
	}
}

func TestTheEndOfAConsoleEndsTheConversation(t *testing.T) {
	far := newEcho()
	var out bytes.Buffer
	u := ui.New(strings.NewReader("who\n"), &out, io.Discard)
	done := make(chan error, 1)
	go func() { done <- converse(t.Context(), u, far) }()
	far.to.Close()
	if err := <-done; err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

func TestTheEndOfTheInputEndsAConsoleThatIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := newEcho()
		var out bytes.Buffer
		u := ui.New(strings.NewReader("who\n"), &out, io.Discard)
		if err := converse(t.Context(), u, far); err != nil {
			t.Error(err)
		}
		far.to.Close()
		synctest.Wait()
		if out.String() != "[who\n]" {
			t.Errorf("got %q", out.String())
		}
	})
}
