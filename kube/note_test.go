package kube

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextsOfEventsAreShortened(t *testing.T) {
	for _, test := range []struct{ reason, text, want string }{
		{"short texts stay", "ready", "ready"},
		{"the longest that fits stays", strings.Repeat("a", 1000), strings.Repeat("a", 1000)},
		{"a longer one is cut", strings.Repeat("a", 1001), strings.Repeat("a", 1000) + "…"},
		{"between characters", strings.Repeat("a", 999) + "é" + strings.Repeat("a", 100), strings.Repeat("a", 999) + "…"},
	} {
		got := Note(test.text)
		if got != test.want {
			t.Errorf("%s: %q", test.reason, got)
		}
		if !utf8.ValidString(got) || len(got) > 1024 {
			t.Errorf("%s: %d bytes, valid: %v", test.reason, len(got), utf8.ValidString(got))
		}
	}
}
