package v1alpha1

import (
	"encoding/json"
	"strings"
)

// CPUFlags are flags of a CPU such as +pdpe1gb. They are a list, or one text with spaces, commas
// or semicolons in between.
type CPUFlags []string

// UnmarshalJSON reads a list or a text. Kubernetes can't check this field, and one object that can't be read would keep all
// others from being read: what is neither is kept as it is, and refused where flags are checked.
func (f *CPUFlags) UnmarshalJSON(data []byte) error {
	var list []string
	if err := json.Unmarshal(data, &list); err == nil {
		*f = list
		return nil
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		*f = strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == ',' || c == ';' })
		return nil
	}
	*f = CPUFlags{string(data)}
	return nil
}
