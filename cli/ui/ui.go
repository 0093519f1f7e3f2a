// Package ui talks with the person in front of the screen, or with the program at the other end of
// the pipe: output, questions, errors with what to do about them, and logs.
package ui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/proxplane/proxplane/status"
)

// UI is the person in front of the screen, or the program at the other end of
// the pipe.
type UI struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Log      logging

	lines *bufio.Reader // of in, for answers
	Words status.Words  // of the people who read what is said about objects

	mu     sync.Mutex
	divert io.Writer // where err goes while bars are on the screen
}

// New makes a UI of three streams, in the environment of the process.
func New(in io.Reader, out, err io.Writer) *UI {
	u := &UI{In: in, Out: &status.SafeWriter{W: out}, Getenv: os.Getenv}
	u.Err = &status.SafeWriter{W: &errWriter{u: u, w: err}}
	return u
}

// Raw returns a stream as it was given: for what needs the terminal itself, such as consoles
// and editors.
func Raw(stream io.Writer) io.Writer {
	if s, ok := stream.(*status.SafeWriter); ok {
		stream = s.W
	}
	if e, ok := stream.(*errWriter); ok {
		stream = e.w
	}
	return stream
}

// errWriter writes above the progress bars while there are any.
type errWriter struct {
	u *UI
	w io.Writer
}

func (e *errWriter) Write(p []byte) (int, error) {
	e.u.mu.Lock()
	w := e.u.divert
	e.u.mu.Unlock()
	if w == nil {
		w = e.w
	}
	return w.Write(p)
}

// SetDivert writes the standard error elsewhere; nil ends that.
func (u *UI) SetDivert(w io.Writer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.divert = w
}

// Terminal returns the file behind a reader or writer, if it is a terminal.
func Terminal(stream any) (*os.File, bool) {
	if w, ok := stream.(io.Writer); ok {
		stream = Raw(w)
	}
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, false
	}
	return f, true
}

// Page says how texts are laid out on a stream.
func (u *UI) Page(stream io.Writer) status.Page {
	f, ok := Terminal(stream)
	if !ok {
		return status.Page{Words: u.Words}
	}
	return status.Page{Words: u.Words, Width: ScreenWidth(f), Paint: status.Paint{On: u.Getenv("NO_COLOR") == "" && u.Getenv("TERM") != "dumb"}}
}

// Layout says how tables are laid out on the standard output.
func (u *UI) Layout(wide bool) status.Layout {
	l := status.Layout{Wide: wide, Heading: true}
	if f, ok := Terminal(u.Out); ok && !wide {
		l.Width = ScreenWidth(f)
	}
	return l
}

// ScreenWidth returns how many columns a terminal has.
func ScreenWidth(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// ScreenHeight returns how many lines a terminal has; 0: it isn't one.
func ScreenHeight(stream io.Writer) int {
	f, ok := Terminal(stream)
	if !ok {
		return 0
	}
	_, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return height
}

// Say writes to the standard output.
func (u *UI) Say(format string, args ...any) { fmt.Fprintf(u.Out, format+"\n", args...) }

// Note tells something beside the point, on the standard error.
func (u *UI) Note(format string, args ...any) {
	text := "note: " + fmt.Sprintf(format, args...)
	page := u.Page(u.Err)
	fmt.Fprintln(u.Err, page.Grey(status.Wrap(text, page.Width, "      ")))
}

// ErrNoAnswer says that somebody should be asked, and nobody is there.
var ErrNoAnswer = errors.New("no terminal to ask on")

// errGaveUp: the prompt for a secret was aborted.
var errGaveUp = &ExitError{Code: ExitInterrupted}

// Asks reports whether somebody is there who can be asked.
func (u *UI) Asks() bool {
	_, reads := Terminal(u.In)
	_, sees := Terminal(u.Err)
	return reads && sees
}

// Ask asks whether to go on. Without a terminal nobody is asked.
func (u *UI) Ask(ctx context.Context, question string) (bool, error) {
	if !u.Asks() {
		return false, ErrNoAnswer
	}
	fmt.Fprintf(u.Err, "%s [y/N] ", question)
	line, err := u.readLine(ctx)
	if err != nil {
		fmt.Fprintln(u.Err)
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// AskText asks for a line; who presses just Enter means what is usual.
func (u *UI) AskText(ctx context.Context, question, usual string) (string, error) {
	if !u.Asks() {
		return "", ErrNoAnswer
	}
	if usual != "" {
		question += " [" + usual + "]"
	}
	fmt.Fprintf(u.Err, "%s: ", question)
	line, err := u.readLine(ctx)
	if err != nil {
		fmt.Fprintln(u.Err)
		return "", err
	}
	if line = strings.TrimSpace(line); line == "" {
		line = usual
	}
	if line == "" {
		return "", errGaveUp
	}
	return line, nil
}

// readLine reads an answer. The end of ctx ends it, though the reading goes on
// behind: nothing else reads after it.
func (u *UI) readLine(ctx context.Context) (string, error) {
	if u.lines == nil {
		u.lines = bufio.NewReader(u.In)
	}
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		line, err := u.lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil // Ctrl-D is no
		}
		got <- answer{line, err}
	}()
	select {
	case a := <-got:
		return a.line, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// AskSecret reads a password without showing it.
func (u *UI) AskSecret(what string) (string, error) {
	f, ok := Terminal(u.In)
	if !ok {
		return "", ErrNoAnswer
	}
	// Nothing is echoed any more when the question appears: who types at once isn't
	// seen either. Ctrl-C and Ctrl-D end it.
	fd := int(f.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	answer, err := term.NewTerminal(keysAndScreen{f, Raw(u.Err)}, "").ReadPassword(status.Safe(what) + ": ")
	err = errors.Join(err, term.Restore(fd, before))
	if errors.Is(err, io.EOF) {
		fmt.Fprintln(u.Err)
		err = errGaveUp
	}
	return answer, err
}

// keysAndScreen is what somebody types on and looks at.
type keysAndScreen struct {
	io.Reader
	io.Writer
}
