package prop

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Tags are the tags of a guest as Proxmox gives them back: in lower case, sorted,
// each once.
type Tags []string

var tagText = regexp.MustCompile(`^(?i)[a-z0-9_][a-z0-9_+.-]*$`)

// ParseTags parses the value of tags, in which they may be separated by
// semicolons, commas and space.
func ParseTags(s string) (Tags, error) { return NewTags(splitWords(s)...) }

// NewTags makes a list of tags.
func NewTags(tags ...string) (Tags, error) {
	var out Tags
	for _, t := range tags {
		if !tagText.MatchString(t) {
			return nil, fmt.Errorf("invalid tag %q: want letters, digits and _, after the first also + . -", t)
		}
		out = append(out, strings.ToLower(t))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (t Tags) String() string { return strings.Join(t, ";") }

// Has reports whether the tag is there.
func (t Tags) Has(tag string) bool { return slices.Contains(t, strings.ToLower(tag)) }

// Equal reports whether both are the same tags.
func (t Tags) Equal(o Tags) bool { return slices.Equal(t, o) }
