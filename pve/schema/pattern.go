package schema

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// pattern is a Perl regular expression, compiled when it is first used.
type pattern struct {
	source  string
	compile func() (*regexp.Regexp, int, error)
}

var patterns sync.Map // source → *pattern

func perlPattern(source string) *pattern {
	if p, ok := patterns.Load(source); ok {
		return p.(*pattern)
	}
	p := &pattern{source: source}
	var once sync.Once
	var re *regexp.Regexp
	var max int
	var err error
	p.compile = func() (*regexp.Regexp, int, error) {
		once.Do(func() {
			var text string
			text, max = convert(source)
			re, err = regexp.Compile(text)
		})
		return re, max, err
	}
	got, _ := patterns.LoadOrStore(source, p)
	return got.(*pattern)
}

// match reports whether the text matches; a pattern that can't be compiled
// matches nothing (a test compiles them all).
func (p *pattern) match(text string) bool {
	re, max, err := p.compile()
	if err != nil || max >= 0 && utf8.RuneCountInString(strings.TrimSuffix(text, "\n")) > max {
		return false
	}
	return re.MatchString(text)
}

// Perl's character classes know Unicode, Go's don't.
const (
	digits = `\p{Nd}`
	words  = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}`
	spaces = `\s\x{0b}\x{85}\p{Z}`
)

// convert rewrites a Perl pattern for Go. Where the whole pattern is one class
// repeated more often than Go allows, the bound is given back as a length.
func convert(perl string) (re string, maxLen int) {
	maxLen = -1
	if m := bigRepeatRE.FindStringSubmatch(perl); m != nil {
		perl = "^" + m[1] + "*$"
		maxLen, _ = strconv.Atoi(m[2])
	}
	var b strings.Builder
	inClass := false
	for i := 0; i < len(perl); i++ {
		c := perl[i]
		switch {
		case c == '\\' && i+1 < len(perl):
			i++
			b.WriteString(escape(perl[i], inClass))
		case inClass:
			if c == ']' {
				inClass = false
			}
			b.WriteByte(c)
		case c == '[':
			inClass = true
			b.WriteByte(c)
			// A bracket that comes first is an ordinary character.
			for _, first := range []string{"^", "]"} {
				if strings.HasPrefix(perl[i+1:], first) {
					b.WriteString(first)
					i++
				}
			}
		case c == '$':
			// Perl's $ lets a final newline pass.
			b.WriteString(`(?:\n?\z)`)
		case strings.HasPrefix(perl[i:], "(?^"):
			end := strings.IndexByte(perl[i:], ':')
			if end < 0 {
				b.WriteByte(c)
				continue
			}
			b.WriteString(flags(perl[i+3 : i+end]))
			i += end
		case c == '{' && strings.HasPrefix(perl[i:], "{,"):
			b.WriteString("{0")
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), maxLen
}

// flags gives the group that stands for (?^flags: which sets all others off.
func flags(on string) string {
	on = strings.Trim(on, "ul") // character set modifiers, Unicode is always on
	off := ""
	for _, f := range "ims" {
		if !strings.ContainsRune(on, f) {
			off += string(f)
		}
	}
	if off != "" {
		off = "-" + off
	}
	return "(?" + on + off + ":"
}

func escape(c byte, inClass bool) string {
	wrap := func(negated bool, class string) string {
		switch {
		case inClass && !negated:
			return class
		case negated:
			return "[^" + class + "]"
		}
		return "[" + class + "]"
	}
	switch c {
	case 'd', 'D':
		return wrap(c == 'D', digits)
	case 'w', 'W':
		return wrap(c == 'W', words)
	case 's', 'S':
		return wrap(c == 'S', spaces)
	case 'Z':
		return `(?:\n?\z)`
	}
	return `\` + string(c)
}

// bigRepeatRE is ^[class]{0,n}$ with an n that may be beyond Go's limit of 1000.
var bigRepeatRE = regexp.MustCompile(`^\^(\[[^\[\]]+\])\{0?,(\d{4,6})\}\$$`)
