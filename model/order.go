package model

import (
	"cmp"
	"maps"
	"slices"
)

// CompareNames compares names with numbers in them by value: node-2 comes before node-10.
func CompareNames(a, b string) int {
	restA, restB := a, b
	for restA != "" && restB != "" {
		textA, numberA := cutNumber(&restA)
		textB, numberB := cutNumber(&restB)
		if n := cmp.Or(cmp.Compare(textA, textB), cmp.Compare(len(numberA), len(numberB)), cmp.Compare(numberA, numberB)); n != 0 {
			return n
		}
	}
	return cmp.Or(cmp.Compare(len(restA), len(restB)), cmp.Compare(a, b)) // 07 is 7, but not the same name
}

// cutNumber takes the text up to the next number off a name, and the number, without
// the zeros before it. They may be of any length.
func cutNumber(name *string) (text, number string) {
	at := 0
	for at < len(*name) && !isDigit((*name)[at]) {
		at++
	}
	end := at
	for end < len(*name) && isDigit((*name)[end]) {
		end++
	}
	text, number = (*name)[:at], (*name)[at:end]
	*name = (*name)[end:]
	for number != "" && number[0] == '0' {
		number = number[1:]
	}
	return text, number
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// NamesOf returns the keys of a map in the order of [CompareNames].
func NamesOf[V any](m map[string]V) []string { return slices.SortedFunc(maps.Keys(m), CompareNames) }

// SortNames sorts names by [CompareNames].
func SortNames(names []string) { slices.SortFunc(names, CompareNames) }
