package v1alpha1

import (
	"encoding/json"
	"fmt"
	"strings"
)

// CPUFlags are flags of a CPU such as +pdpe1gb. They are a list, or one text with spaces, commas
// or semicolons in between.
type CPUFlags []string

// UnmarshalJSON reads a list or a text.
func (f *CPUFlags) UnmarshalJSON(data []byte) error {
	var list []string
	if err := json.Unmarshal(data, &list); err == nil {
		*f = list
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("want a list of CPU flags, or a text such as +pdpe1gb, have %.40s", data)
	}
	*f = strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == ',' || c == ';' })
	return nil
}
