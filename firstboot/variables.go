package firstboot

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Variables of each guest that texts can use, beside people's own ones.
const (
	VarID    = "vm_id"    // the VMID
	VarName  = "vm_name"  // the name in Proxmox
	VarCount = "vm_count" // how many guests are made of the same text
	VarIndex = "vm_index" // which of them this is, from 0

	// VarCountIndex is another name for VarIndex, as Terraform modules have it.
	VarCountIndex = "vm_count_index"

	ownPrefix = "vm_"
)

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	variableUse  = regexp.MustCompile(`\$?\$\{\s*([^{}\s]*)\s*\}`)
)

// CheckVariable reports whether a name can be one of people's own variables.
func CheckVariable(name string) error {
	switch {
	case !variableName.MatchString(name):
		return fmt.Errorf("want letters, digits and _, have %q", name)
	case strings.HasPrefix(name, ownPrefix):
		return fmt.Errorf("names that begin with %s are proxplane's own", ownPrefix)
	}
	return nil
}

// MaxExpanded is how many bytes variables may add to a text.
const MaxExpanded = 1 << 20

// Expand replaces ${name} by the value of a variable. What isn't the name of one
// stays as it is, since shell scripts write the same, unless it can only be a
// slip. $${name} is how ${name} itself is written.
func Expand(text string, variables map[string]string) (string, error) {
	var wrong TextErrors
	var b strings.Builder
	last := 0
	for _, m := range variableUse.FindAllStringSubmatchIndex(text, -1) {
		whole, name := text[m[0]:m[1]], text[m[2]:m[3]]
		b.WriteString(text[last:m[0]])
		last = m[1]
		value, known := variables[name]
		switch {
		case strings.HasPrefix(whole, "$$"):
			b.WriteString(whole[1:])
		case known:
			if b.Len()+len(value) > len(text)+MaxExpanded {
				line, column := position(text, m[0])
				return "", &TextError{line, column, fmt.Sprintf("with its variables replaced it would have more than %d bytes beyond what is written", MaxExpanded)}
			}
			b.WriteString(value)
		case strings.HasPrefix(name, ownPrefix):
			line, column := position(text, m[0])
			wrong = append(wrong, &TextError{line, column, fmt.Sprintf("there is no variable %s; there are %s", name, strings.Join(slices.Sorted(maps.Keys(variables)), ", "))})
		default:
			b.WriteString(whole)
		}
	}
	b.WriteString(text[last:])
	return b.String(), wrong.orNil()
}

// uses reports whether a text has a variable in it.
func uses(text, name string) bool {
	for _, m := range variableUse.FindAllStringSubmatch(text, -1) {
		if m[1] == name && !strings.HasPrefix(m[0], "$$") {
			return true
		}
	}
	return false
}

// position is where an offset is, as people count.
func position(text string, offset int) (line, column int) {
	before := text[:offset]
	return strings.Count(before, "\n") + 1, offset - strings.LastIndexByte(before, '\n')
}
