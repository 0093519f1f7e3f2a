package qemuarg

import (
	"fmt"
	"strings"
)

// plain are the characters of words that need no quotes.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=,./:@%+"

// Quote writes a word so that Split reads it back.
func Quote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	// In single quotes a backslash would stand for itself, and yet keep a quote
	// behind it from ending the word.
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

// Split splits a line as Proxmox does (Perl's shellwords). It returns an error where
// Proxmox would silently treat the whole line as empty.
func Split(line string) ([]string, error) {
	var words []string
	s := splitter{line: strings.TrimLeft(line, blanks)}
	for s.line != "" {
		word, err := s.word()
		if err != nil {
			return nil, fmt.Errorf("QEMU arguments %q: %w", line, err)
		}
		words = append(words, word)
	}
	return words, nil
}

// blanks are Perl's \s.
const blanks = " \t\n\v\f\r"

type splitter struct{ line string }

// word reads up to the next blank outside quotes, and past all blanks there.
func (s *splitter) word() (string, error) {
	var b strings.Builder
	for s.line != "" {
		switch c := s.line[0]; {
		case c == '"' || c == '\'':
			text, err := s.quoted(c)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
		case c == '\\':
			if len(s.line) == 1 {
				return "", fmt.Errorf("it ends with a backslash")
			}
			b.WriteByte(s.line[1])
			s.line = s.line[2:]
		case strings.IndexByte(blanks, c) >= 0:
			s.line = strings.TrimLeft(s.line, blanks)
			return b.String(), nil
		default:
			b.WriteByte(c)
			s.line = s.line[1:]
		}
	}
	return b.String(), nil
}

// quoted reads a text in quotes.
func (s *splitter) quoted(mark byte) (string, error) {
	var b strings.Builder
	for i := 1; i < len(s.line); i++ {
		switch c := s.line[i]; {
		case c == mark:
			s.line = s.line[i+1:]
			return b.String(), nil
		case c == '\\' && i+1 < len(s.line):
			i++
			if mark == '\'' {
				b.WriteByte('\\')
			}
			b.WriteByte(s.line[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", fmt.Errorf("the quote %c isn't closed", mark)
}
