package ui

import (
	"slices"
	"strings"
)

// ThereAre returns a sentence that lists which there are.
func ThereAre(names []string) string {
	switch len(names) {
	case 0:
		return "there is none"
	case 1:
		return "there is " + names[0]
	}
	return "there are " + strings.Join(names, ", ")
}

// Sentence begins with a capital letter and ends with a full stop.
func Sentence(text string) string {
	if !strings.HasPrefix(text, "proxplane ") { // that is a command
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") || strings.HasSuffix(text, ":") {
		return text
	}
	return text + "."
}

// AndList returns "a, b and c"; of a long list only the beginning.
func AndList(words []string) string {
	const most = 4
	if len(words) > most {
		words = append(slices.Clone(words[:most]), "more")
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Quoted returns a text as one word of a shell.
func Quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
