// Package licence holds the test that everything that is linked into the programs may be given
// away with them: each module has a licence file, and its text is a permissive licence. HashiCorp's modules
// are under the Mozilla Public License, which asks that their source can be had: it can, as long as they are
// linked as they are.
package licence

import "strings"

// signs are sentences that only one licence has. All of those of a licence have to be there.
var signs = []struct {
	name  string
	parts []string
}{
	{"Apache-2.0", []string{"apache license", "version 2.0, january 2004"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "endorse or promote products derived"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms", "must reproduce the above copyright notice"}},
	{"ISC", []string{"permission to use, copy, modify, and", "distribute this software for any purpose with or without fee is hereby granted"}},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy", "the above copyright notice and this permission notice"}},
	{"Unlicense", []string{"this is free and unencumbered software released into the public domain"}},
}

// refused are words of licences that ask more of those who give the program away.
var refused = []string{
	"gnu general public license", "gnu lesser general public license", "gnu affero", "mozilla public license", "eclipse public license",
	"server side public license", "business source license", "common development and distribution license", "elastic license", "commons clause",
}

// Of is the permissive licence of a text; empty: it is another, or more than that.
func Of(text string) string {
	words := strings.Join(strings.Fields(strings.ToLower(text)), " ")
	for _, r := range refused {
		if strings.Contains(words, r) {
			return ""
		}
	}
	for _, s := range signs {
		all := true
		for _, p := range s.parts {
			all = all && strings.Contains(words, p)
		}
		if all {
			return s.name
		}
	}
	return ""
}

// Mozilla reports whether a text is the Mozilla Public License 2.0, and nothing before it says otherwise.
func Mozilla(text string) bool {
	plain := strings.NewReplacer("=", "", "-", "", ",", "").Replace(strings.ToLower(text))
	before, _, is := strings.Cut(strings.Join(strings.Fields(plain), " "), "mozilla public license version 2.0 1. definitions")
	return is && (before == "" || strings.HasPrefix(before, "copyright ") && len(before) < 200)
}
