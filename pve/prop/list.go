package prop

import (
	"fmt"
	"slices"
	"strings"
)

// A Pair is one property. The key is empty for a value that stands alone.
type Pair struct{ Key, Value string }

// A List is a property string taken apart: properties in their order.
type List []Pair

// ParseList takes any property string apart. It doesn't know which key a value
// without one belongs to.
func ParseList(s string) (List, error) {
	if i := strings.IndexFunc(s, isControl); i >= 0 {
		return nil, fmt.Errorf("control character %q in property string", s[i])
	}
	var l List
	for part := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(part) == "" {
			continue // Proxmox skips these too
		}
		key, value, keyed := strings.Cut(part, "=")
		switch {
		case !keyed:
			key, value = "", part
		case key == "":
			return nil, fmt.Errorf("%q has no key", part)
		case value == "":
			return nil, fmt.Errorf("%q has no value", part)
		}
		if _, dup := l.Get(key); dup {
			if key == "" {
				return nil, fmt.Errorf("second value without key: %q", value)
			}
			return nil, fmt.Errorf("second value for %s: %q", key, value)
		}
		l = append(l, Pair{key, value})
	}
	return l, nil
}

// String puts the property string together.
func (l List) String() string {
	var b strings.Builder
	for _, p := range l {
		if p.Value == "" {
			continue // Proxmox has no empty values
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		if p.Key != "" {
			b.WriteString(escape(p.Key, ",="))
			b.WriteByte('=')
		}
		b.WriteString(escape(p.Value, ","))
	}
	return b.String()
}

// Get returns the value of key.
func (l List) Get(key string) (value string, ok bool) {
	for _, p := range l {
		if p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}

// Set gives key a value, in its place if it is there, else at the end. An empty
// value takes it out. Lists that share memory with this one stay as they are.
func (l *List) Set(key, value string) {
	out := slices.Clone(*l)
	i := slices.IndexFunc(out, func(p Pair) bool { return p.Key == key })
	switch {
	case i < 0 && value != "":
		out = append(out, Pair{key, value})
	case i >= 0 && value != "":
		out[i].Value = value
	case i >= 0:
		out = slices.Delete(out, i, i+1)
	}
	*l = out
}

// equal reports whether two lists have the same properties in any order.
func (l List) equal(o List) bool {
	if len(l) != len(o) {
		return false
	}
	for _, p := range l {
		if v, ok := o.Get(p.Key); !ok || canonicalExtra(p.Key, v) != canonicalExtra(p.Key, p.Value) {
			return false
		}
	}
	return true
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// escape writes control characters and those in special as %XX.
func escape(s, special string) string {
	bad := func(c byte) bool { return isControl(rune(c)) || strings.IndexByte(special, c) >= 0 }
	if !slices.ContainsFunc([]byte(s), bad) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if bad(s[i]) {
			fmt.Fprintf(&b, "%%%02X", s[i])
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
