//go:build unix

// Package screen is a terminal for tests: what is written to it is kept, and keys can be pressed.
package screen

import (
	"bytes"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// Screen is a terminal: what is written to it is kept, and keys can be pressed.
type Screen struct {
	*testing.T
	Keys *os.File // our end
	TTY  *os.File // the program's end

	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

// New opens a terminal of this size.
func New(t *testing.T, columns, rows uint16) *Screen {
	t.Helper()
	keys, tty, err := pty.Open()
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Cols: columns, Rows: rows}); err != nil {
		t.Fatal(err)
	}
	s := &Screen{T: t, Keys: keys, TTY: tty, more: make(chan struct{}, 1)}
	go s.read()
	t.Cleanup(func() {
		tty.Close()
		keys.Close()
	})
	return s
}

func (s *Screen) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := s.Keys.Read(buffer)
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

func (s *Screen) All() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Wait waits until a pattern is on the screen.
func (s *Screen) Wait(pattern string) {
	s.Helper()
	re := regexp.MustCompile(pattern)
	limit := time.After(time.Minute)
	for !re.MatchString(s.All()) {
		select {
		case <-s.more:
		case <-limit:
			s.Fatalf("%q didn't show up in:\n%q", pattern, s.All())
		}
	}
}
