package access

import (
	"strings"
	"unicode"
)

// Rights are the privileges somebody has on a path. Those in spread hold for
// everything below it too.
type Rights struct{ Set, Spread Privs }

func (r Rights) And(o Rights) Rights {
	return Rights{Set: r.Set & o.Set, Spread: r.Spread & o.Spread}
}

// CleanPath gives a path of the access tree its one spelling, "" when it
// has characters that none has.
func CleanPath(path string) string {
	if path == "" || path == "0" {
		return ""
	}
	var b strings.Builder
	for part := range strings.SplitSeq(path, "/") {
		if part == "" {
			continue
		}
		for _, c := range part {
			if !pathRune(c) {
				return ""
			}
		}
		b.WriteByte('/')
		b.WriteString(part)
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

// pathRune reports whether a character may be in a path of the access tree.
func pathRune(c rune) bool {
	switch c {
	case '.', '-', '_':
		return true
	}
	return unicode.IsLetter(c) || unicode.IsDigit(c)
}
