//go:build unix

// Package screen is a terminal for tests: what is written to it is kept, and keys can be pressed.
package cli

import (
	"bytes"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
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
