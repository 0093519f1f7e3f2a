// Package suggest finds the valid word that is nearest to a misspelt one.
package suggest

import (
	"fmt"
	"slices"
	"strings"
)

// DidYouMean names the nearest valid word, or all if none is near.
func DidYouMean(have string, words []string) string {
	if near, ok := Nearest(have, words); ok {
		return fmt.Sprintf("did you mean %s?", near)
	}
	if len(words) == 0 {
		return "there is none"
	}
	return "known are " + strings.Join(words, ", ")
}

// Nearest finds the nearest valid word, if one is near enough.
func Nearest(have string, words []string) (string, bool) {
	if len(words) == 0 || len(have) > 100 {
		return "", false
	}
	lower := strings.ToLower(have)
	best := slices.MinFunc(words, func(a, b string) int {
		return distance(lower, strings.ToLower(a)) - distance(lower, strings.ToLower(b))
	})
	d := distance(lower, strings.ToLower(best))
	return best, d <= max(1, min(len(have), len(best))/3) || begun(lower, strings.ToLower(best))
}

// OneOf says that one of some words is required, and which one is nearest.
func OneOf(have string, words []string) string {
	hint := ""
	if near, ok := Nearest(have, words); ok {
		hint = "; did you mean " + near + "?"
	}
	last := len(words) - 1
	return fmt.Sprintf("want %s or %s, have %q%s", strings.Join(words[:last], ", "), words[last], Shortened(have), hint)
}

// begun reports whether a word was left unfinished, or got an ending that it doesn't
// have: snap or snapshotRef, where it is snapshot.
func begun(have, word string) bool {
	const least, ending = 3, 4
	rest, longer := strings.CutPrefix(have, word)
	return strings.HasPrefix(word, have) && len(have) >= least || longer && len(word) > least && len(rest) <= ending
}

// distance counts the letters to add, take away, change or swap.
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	var beforeThat []int
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		beforeThat, before, row = before, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(before[j]+cost, before[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], beforeThat[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// Shortened truncates an input for a message.
func Shortened(s string) string {
	const most = 60
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…" // it may end within a letter
	}
	return s
}
