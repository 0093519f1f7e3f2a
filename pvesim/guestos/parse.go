package guestos

import (
	"fmt"
	"strconv"
	"strings"
)

// shellCommand is one command of a script.
type shellCommand struct {
	join      string // how it follows the one before: ";", "&&", "||"
	words     []shellWord
	redirects []shellRedirect
	piped     *shellCommand // whose output it reads
}

// shellWord is a word with its quotes taken apart.
type shellWord []shellPart

type shellPart struct {
	text  string
	plain bool // single quotes: variables stay
	bare  bool // no quotes: an empty result is no word
}

type shellRedirect struct {
	fd     int
	target shellWord
	add    bool
}

// shellParser reads a script word by word.
type shellParser struct {
	rest string
	list []shellCommand
	cur  shellCommand
	err  error
}

// parseShell takes a script apart into its commands. Lists (; newline && ||),
// pipes, redirections (> >> 2>), quotes, backslashes and comments are known;
// loops, functions and substitutions aren't.
func parseShell(text string) ([]shellCommand, error) {
	p := &shellParser{rest: text, cur: shellCommand{join: ";"}}
	for p.rest != "" && p.err == nil {
		p.step()
	}
	p.end(";")
	return p.list, p.err
}

// end finishes a command; join says how the next one follows.
func (p *shellParser) end(join string) {
	if len(p.cur.words) > 0 || len(p.cur.redirects) > 0 {
		p.list = append(p.list, p.cur)
	}
	p.cur = shellCommand{join: join}
}

func (p *shellParser) step() {
	switch r := p.rest; {
	case r[0] == ' ' || r[0] == '\t' || r[0] == '\r':
		p.rest = r[1:]
	case r[0] == '#':
		_, p.rest, _ = strings.Cut(r, "\n")
		p.end(";")
	case strings.HasPrefix(r, "&&"), strings.HasPrefix(r, "||"):
		p.rest = r[2:]
		p.end(r[:2])
	case r[0] == ';' || r[0] == '\n' || r[0] == '&':
		p.rest = r[1:]
		p.end(";")
	case r[0] == '|':
		p.rest = r[1:]
		left := p.cur
		p.cur = shellCommand{join: left.join, piped: &left}
	case r[0] == '>':
		p.redirect(1)
	case len(r) > 1 && (r[0] == '1' || r[0] == '2') && r[1] == '>':
		fd, _ := strconv.Atoi(r[:1])
		p.rest = r[1:]
		p.redirect(fd)
	case r[0] == '(' || r[0] == ')' || r[0] == '<' || r[0] == '`':
		p.err = fmt.Errorf("Syntax error: %q unexpected", r[:1])
	default:
		p.cur.words = append(p.cur.words, p.word())
	}
}

func (p *shellParser) redirect(fd int) {
	p.rest = p.rest[1:]
	add := strings.HasPrefix(p.rest, ">")
	p.rest = strings.TrimLeft(strings.TrimPrefix(p.rest, ">"), " \t")
	var target shellWord
	if strings.HasPrefix(p.rest, "&") {
		p.rest = p.rest[1:]
		target = append(shellWord{{text: "&"}}, p.word()...)
	} else {
		target = p.word()
	}
	p.cur.redirects = append(p.cur.redirects, shellRedirect{fd: fd, target: target, add: add})
}

// word reads up to the next blank or operator.
func (p *shellParser) word() shellWord {
	var w shellWord
	bare := ""
	flush := func() {
		if bare != "" {
			w = append(w, shellPart{text: bare, bare: true})
			bare = ""
		}
	}
	for p.rest != "" && !strings.ContainsAny(p.rest[:1], " \t\r\n;&|<>()`") {
		switch c := p.rest[0]; c {
		case '\'':
			flush()
			text, rest, ok := strings.Cut(p.rest[1:], "'")
			if !ok {
				p.err = fmt.Errorf("Syntax error: Unterminated quoted string")
			}
			w, p.rest = append(w, shellPart{text: text, plain: true}), rest
		case '"':
			flush()
			text, rest, ok := cutQuote(p.rest[1:])
			if !ok {
				p.err = fmt.Errorf("Syntax error: Unterminated quoted string")
			}
			w, p.rest = append(w, shellPart{text: text}), rest
		case '\\':
			flush()
			p.rest = p.rest[1:]
			if p.rest != "" {
				w, p.rest = append(w, shellPart{text: p.rest[:1], plain: true}), p.rest[1:]
			}
		default:
			bare += string(c)
			p.rest = p.rest[1:]
		}
	}
	flush()
	return w
}

// cutQuote finds the end of a double-quoted text.
func cutQuote(s string) (text, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s) && strings.ContainsAny(s[i+1:i+2], `"\`):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), "", false
}

// expand puts in variables and joins the parts of a word. A word that was
// only an empty variable is gone.
func (p *process) expand(w shellWord) []string {
	var b strings.Builder
	bare := true
	for _, part := range w {
		bare = bare && part.bare
		if part.plain {
			b.WriteString(part.text)
			continue
		}
		b.WriteString(p.variables(part.text))
	}
	if bare {
		return strings.Fields(b.String())
	}
	return []string{b.String()}
}

func (p *process) variables(text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "$")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		var name string
		switch {
		case strings.HasPrefix(rest, "{"):
			inner, after, _ := strings.Cut(rest[1:], "}")
			name, text = inner, after
		case strings.HasPrefix(rest, "?"):
			b.WriteString(strconv.Itoa(p.code))
			text = rest[1:]
			continue
		case strings.HasPrefix(rest, "*"), strings.HasPrefix(rest, "@"):
			b.WriteString(strings.Join(p.arguments(), " "))
			text = rest[1:]
			continue
		default:
			n := 0
			for n < len(rest) && (isName(rest[:n+1]) || n == 0 && rest[0] >= '0' && rest[0] <= '9') {
				n++
			}
			name, text = rest[:n], rest[n:]
			if n == 0 {
				b.WriteByte('$')
				continue
			}
		}
		b.WriteString(p.vars[name])
	}
}

// arguments are $1, $2 and so on.
func (p *process) arguments() (args []string) {
	for i := 1; ; i++ {
		a, ok := p.vars[strconv.Itoa(i)]
		if !ok {
			return args
		}
		args = append(args, a)
	}
}
