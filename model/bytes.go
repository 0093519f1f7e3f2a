package model

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bytes formats a size for people.
func Bytes(n int64) string {
	const unit = 1024
	switch {
	case n >= 10*unit*unit*unit*unit && n%(unit*unit*unit*unit) == 0:
		return fmt.Sprintf("%d TiB", n/(unit*unit*unit*unit))
	case n >= unit*unit*unit && n%(unit*unit*unit) == 0:
		return fmt.Sprintf("%d GiB", n/(unit*unit*unit))
	case n >= unit*unit*unit:
		return fmt.Sprintf("%.1f GiB", float64(n)/(unit*unit*unit))
	case n >= unit*unit:
		return fmt.Sprintf("%d MiB", n/(unit*unit))
	}
	return fmt.Sprintf("%d KiB", n/unit)
}

// Shortened truncates a long value.
func Shortened(s string) string {
	const most = 60
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i] + "…"
	}
	if len(s) <= most {
		return s
	}
	at := most
	for !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + "…"
}
