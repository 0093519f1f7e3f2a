package status

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Names, notes, descriptions and errors come from others, who may have put characters into
// them that a terminal takes for commands: to write the clipboard, to hide a line, to make
// another one up.

// Safe returns a text in which control characters are shown as \u001b. Colours of [Paint],
// line ends and tabs stay.
func Safe(text string) string {
	if !strings.ContainsFunc(text, unsafe) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if n := colour(text[i:]); n > 0 {
			b.WriteString(text[i : i+n])
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError)
		case unsafe(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// unsafe reports whether a character isn't to be shown as it is: C0 and C1 but for line ends
// and tabs, and what changes the direction of a text.
func unsafe(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		return true
	}
	return false
}

// colours are the sequences of [Paint].
var colours = []string{"\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[90m"}

// colour returns how long the colour is that a text begins with; 0: with none.
func colour(text string) int {
	for _, c := range colours {
		if strings.HasPrefix(text, c) {
			return len(c)
		}
	}
	return 0
}

// SafeWriter writes texts that are [Safe].
type SafeWriter struct {
	W    io.Writer
	rest []byte // the beginning of a character
}

// Write writes the whole characters of p; an incomplete one is written with the next call.
func (s *SafeWriter) Write(p []byte) (int, error) {
	all := append(s.rest, p...)
	end := len(all)
	for back := 1; back < utf8.UTFMax && back <= len(all); back++ {
		if c := all[len(all)-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(all[len(all)-back:]) {
				end = len(all) - back
			}
			break
		}
	}
	s.rest = append([]byte(nil), all[end:]...)
	if _, err := io.WriteString(s.W, Safe(string(all[:end]))); err != nil {
		return 0, err
	}
	return len(p), nil
}
