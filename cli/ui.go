// Package ui talks with the person in front of the screen, or with the program at the other end of
// the pipe: output, questions, errors with what to do about them, and logs.
package cli

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

// ui is the person in front of the screen, or the program at the other end of
// the pipe.
type ui struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	log      logging

	lines *bufio.Reader // of in, for answers
	words status.Words  // of the people who read what is said about objects

	mu     sync.Mutex
	divert io.Writer // where err goes while bars are on the screen
}

func newUI(in io.Reader, out, err io.Writer) *ui {
	u := &ui{in: in, out: &status.SafeWriter{W: out}, getenv: os.Getenv}
	u.err = &status.SafeWriter{W: &errWriter{u: u, w: err}}
	return u
}

// raw is a stream as it was given: for what is a terminal's own affair, such as consoles
// and editors.
func raw(stream io.Writer) io.Writer {
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
	u *ui
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

// setDivert has the standard error written elsewhere; nil: no longer.
func (u *ui) setDivert(w io.Writer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.divert = w
}

// terminal is the file behind a reader or writer, if it is a terminal.
func terminal(stream any) (*os.File, bool) {
	if w, ok := stream.(io.Writer); ok {
		stream = raw(w)
	}
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, false
	}
	return f, true
}

// page says how texts are laid out on a stream.
func (u *ui) page(stream io.Writer) status.Page {
	f, ok := terminal(stream)
	if !ok {
		return status.Page{Words: u.words}
	}
	return status.Page{Words: u.words, Width: screenWidth(f), Paint: status.Paint{On: u.getenv("NO_COLOR") == "" && u.getenv("TERM") != "dumb"}}
}

// layout says how tables are laid out on the standard output.
func (u *ui) layout(wide bool) status.Layout {
	l := status.Layout{Wide: wide, Heading: true}
	if f, ok := terminal(u.out); ok && !wide {
		l.Width = screenWidth(f)
	}
	return l
}

func screenWidth(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// screenHeight is how many lines a terminal has; 0: it isn't one.
func screenHeight(stream io.Writer) int {
	f, ok := terminal(stream)
	if !ok {
		return 0
	}
	_, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return height
}

// say writes to the standard output.
func (u *ui) say(format string, args ...any) { fmt.Fprintf(u.out, format+"\n", args...) }

// note tells something beside the point, on the standard error.
func (u *ui) note(format string, args ...any) {
	text := "note: " + fmt.Sprintf(format, args...)
	page := u.page(u.err)
	fmt.Fprintln(u.err, page.Grey(status.Wrap(text, page.Width, "      ")))
}

// errNoAnswer: somebody should be asked, and nobody is there.
var errNoAnswer = errors.New("no terminal to ask on")

// errGaveUp: somebody was asked for a secret, and doesn't tell.
var errGaveUp = &exitError{code: exitInterrupted}

// asks tells whether somebody is there who can be asked.
func (u *ui) asks() bool {
	_, reads := terminal(u.in)
	_, sees := terminal(u.err)
	return reads && sees
}

// ask asks whether to go on. Without a terminal nobody is asked.
func (u *ui) ask(ctx context.Context, question string) (bool, error) {
	if !u.asks() {
		return false, errNoAnswer
	}
	fmt.Fprintf(u.err, "%s [y/N] ", question)
	line, err := u.readLine(ctx)
	if err != nil {
		fmt.Fprintln(u.err)
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// askText asks for a line; who presses just Enter means what is usual.
func (u *ui) askText(ctx context.Context, question, usual string) (string, error) {
	if !u.asks() {
		return "", errNoAnswer
	}
	if usual != "" {
		question += " [" + usual + "]"
	}
	fmt.Fprintf(u.err, "%s: ", question)
	line, err := u.readLine(ctx)
	if err != nil {
		fmt.Fprintln(u.err)
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
func (u *ui) readLine(ctx context.Context) (string, error) {
	if u.lines == nil {
		u.lines = bufio.NewReader(u.in)
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

// askSecret reads a password without showing it.
func (u *ui) askSecret(what string) (string, error) {
	f, ok := terminal(u.in)
	if !ok {
		return "", errNoAnswer
	}
	// Nothing is echoed any more when the question appears: who types at once isn't
	// seen either. Ctrl-C and Ctrl-D end it.
	fd := int(f.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	answer, err := term.NewTerminal(keysAndScreen{f, u.err}, "").ReadPassword(what + ": ")
	err = errors.Join(err, term.Restore(fd, before))
	if errors.Is(err, io.EOF) {
		fmt.Fprintln(u.err)
		err = errGaveUp
	}
	return answer, err
}

// keysAndScreen is what somebody types on and looks at.
type keysAndScreen struct {
	io.Reader
	io.Writer
}
