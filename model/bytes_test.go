package model

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLongValuesAreCutBetweenCharacters(t *testing.T) {
	for n := range 8 {
		text := strings.Repeat("a", n) + strings.Repeat("ü", 100)
		if got := Shortened(text); !utf8.ValidString(got) || !strings.HasSuffix(got, "ü…") || len(got) > 70 {
			t.Errorf("%d: %q", n, got)
		}
	}
}
