// Package qemuarg writes and reads the `args` of a VM: further arguments for
// QEMU on one line.
//
// Two parsers see them. Proxmox splits the line into words as a shell would,
// and QEMU splits most words again, at commas. Option escapes for both.
package qemuarg

import (
	"fmt"
	"strings"
)

// Param is one of the parameters of an option. Without a key it is the option's
// main value, which comes first: the "socket" of "socket,id=x".
type Param struct{ Key, Value string }

// Option returns an option with its parameters as they stand in `args`.
func Option(flag string, params ...Param) string {
	if len(params) == 0 {
		return Quote(flag)
	}
	return Quote(flag) + " " + Quote(list(params))
}

// Line joins options.
func Line(options ...string) string { return strings.Join(options, " ") }

// Check returns why a value can't be part of `args`: that is one line of a file, and
// Proxmox writes some letters beyond ASCII there in Latin-1, so that QEMU would open a file
// of another name.
func Check(value string) error {
	for _, c := range value {
		switch {
		case c < ' ' || c == 0x7f:
			return fmt.Errorf("%q has a control character, which QEMU's arguments can't carry", value)
		case c > 0x7f:
			return fmt.Errorf("%q has the letter %q, and QEMU's arguments can carry ASCII only", value, c)
		}
	}
	return nil
}

// list is QEMU's form of parameters: commas separate them, two commas are one
// in a value.
func list(params []Param) string {
	var b strings.Builder
	for i, p := range params {
		if i > 0 {
			b.WriteByte(',')
		}
		if p.Key != "" {
			b.WriteString(p.Key + "=")
		}
		b.WriteString(strings.ReplaceAll(p.Value, ",", ",,"))
	}
	return b.String()
}

// ParseParams parses a list of parameters as QEMU does. What has no "=" has no key: the
// first is the main value, later ones are switches that are on.
func ParseParams(text string) []Param {
	var params []Param
	for text != "" {
		var p Param
		if at := strings.IndexAny(text, "=,"); at >= 0 && text[at] == '=' {
			p.Key, text = text[:at], text[at+1:]
		}
		p.Value, text = value(text)
		params = append(params, p)
	}
	return params
}

// value is the text up to the next comma that stands alone, and what is behind.
func value(text string) (first, rest string) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, ",")
		b.WriteString(before)
		if !found || !strings.HasPrefix(after, ",") {
			return b.String(), after
		}
		b.WriteByte(',')
		text = after[1:]
	}
}
