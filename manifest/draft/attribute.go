package draft

import (
	"strings"
	"unicode"
)

// Attribute returns the name of a field in Terraform: "maxVMsPerNode" is max_vms_per_node.
func Attribute(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && begins(runes, i) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// begins reports whether a word begins with the capital at i: after a small letter or a digit, or
// as the last of several capitals, unless only a plural's s follows.
func begins(runes []rune, i int) bool {
	if !unicode.IsUpper(runes[i-1]) {
		return true
	}
	if i+1 == len(runes) || !unicode.IsLower(runes[i+1]) {
		return false
	}
	plural := runes[i+1] == 's' && (i+2 == len(runes) || unicode.IsUpper(runes[i+2]))
	return !plural
}
