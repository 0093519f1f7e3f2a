package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

// Error is one error in a manifest.
type Error struct {
	File   string    // empty for objects that weren't read from a file
	Line   int       // 0: not known
	Object model.Key // zero: it isn't about one object
	Field  string    // "spec.disks[0].size"; empty: the object as a whole
	Text   string

	// Forbidden says that the Provider doesn't allow it, which the object's author may not be
	// able to change.
	Forbidden bool
}

func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.File != "" && e.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", e.File, e.Line)
	case e.File != "":
		fmt.Fprintf(&b, "%s: ", e.File)
	}
	if e.Object.Kind != "" {
		fmt.Fprintf(&b, "%s: ", visible(e.Object.Title()))
	}
	if e.Field != "" {
		fmt.Fprintf(&b, "%s: ", visible(e.Field))
	}
	b.WriteString(e.Text)
	return b.String()
}

// visible shows what a terminal would take for an order, such as a line break or a
// change of the direction of writing: names and keys may be anything before they
// are checked.
func visible(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	quoted := strconv.QuoteToGraphic(text)
	return quoted[1 : len(quoted)-1]
}

// Errors are all errors.
type Errors = spec.List[*Error] //nolint:errname // it reads as manifest.Errors

// sorted are errors in the order of the lines, file by file; nil: there are none.
func sorted(e Errors) error {
	files := map[string]int{}
	for _, one := range e {
		if _, seen := files[one.File]; !seen {
			files[one.File] = len(files)
		}
	}
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(files[a.File], files[b.File]), cmp.Compare(a.Line, b.Line))
	})
	return e.OrNil()
}
