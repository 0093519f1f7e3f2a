package firstboot

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// TextError is an error in a text, with its place.
type TextError struct {
	Line, Column int // from 1; 0: not known
	Text         string
}

func (p *TextError) Error() string {
	switch {
	case p.Line > 0 && p.Column > 0:
		return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Text)
	case p.Line > 0:
		return fmt.Sprintf("line %d: %s", p.Line, p.Text)
	}
	return p.Text
}

// TextErrors are the errors in a text.
type TextErrors []*TextError

func (p TextErrors) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "; ")
}

// orNil is an error only if there are any.
func (p TextErrors) orNil() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// TextErrorsOf splits an error into errors with places.
func TextErrorsOf(err error) TextErrors {
	var many TextErrors
	if errors.As(err, &many) {
		return many
	}
	var one *TextError
	if errors.As(err, &one) {
		return TextErrors{one}
	}
	return TextErrors{{Text: err.Error()}}
}

// yamlLine is how the YAML library says where something is.
var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?(.*)$`)

// yamlProblems are the problems that the YAML library reports about a text. For wrong
// values it reports their lines; for invalid syntax mostly the line where the part began
// that it couldn't parse.
func yamlProblems(text string, err error) TextErrors {
	var out TextErrors
	message, values := strings.CutPrefix(err.Error(), "yaml: unmarshal errors:\n")
	lines := strings.Split(text, "\n")
	for part := range strings.SplitSeq(message, "\n") {
		m := yamlLine.FindStringSubmatch(strings.TrimSpace(part))
		p := &TextError{Text: m[2]}
		p.Line, _ = strconv.Atoi(m[1])
		if !values {
			p.Line = badLine(lines, p.Line)
		}
		if p.Line > 0 && p.Line <= len(lines) {
			line := lines[p.Line-1]
			p.Column = len(line) - len(strings.TrimLeft(line, " \t")) + 1
		}
		out = append(out, p)
	}
	return out
}

// maxTried bounds how many bytes are read again to find a line.
const maxTried = 256 << 10

// badLine is the first line that can't follow on those before it.
func badLine(lines []string, reported int) int {
	return firstBad(lines, reported, func(text string) bool { return yaml.Unmarshal([]byte(text), new(yaml.Node)) == nil })
}

// firstBad looks for the last line that all before it can be read with. Where that takes too
// long, the search halves what is left: that finds a line where it goes wrong, if perhaps
// not the last one.
func firstBad(lines []string, reported int, reads func(string) bool) int {
	text, tried := strings.Join(lines, "\n"), 0
	ends := make([]int, len(lines)+1) // where the first n lines end
	for i, line := range lines {
		ends[i+1] = ends[i] + len(line) + 1
	}
	good := func(n int) bool {
		tried += ends[n]
		return reads(text[:max(0, ends[n]-1)])
	}
	n := len(lines) - 1
	for ; n > 0 && tried+ends[n] <= maxTried; n-- {
		if good(n) {
			return n + 1
		}
	}
	if n <= 0 || len(text) > maxTried {
		return reported
	}
	low, high := 0, n+1 // the first low lines can be read, the first high ones can't
	for high-low > 1 {
		if half := (low + high) / 2; good(half) {
			low = half
		} else {
			high = half
		}
	}
	if low == 0 {
		return reported
	}
	return high
}
