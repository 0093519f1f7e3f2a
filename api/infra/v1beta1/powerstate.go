package v1beta1

import (
	"encoding/json"
	"strings"
)

// PowerState is the wanted power state.
type PowerState string

// Power states. Off stops by force, OffGraceful asks the guest to shut down.
const (
	PowerOn          PowerState = "On"
	PowerOff         PowerState = "Off"
	PowerOffGraceful PowerState = "OffGraceful"
)

// UnmarshalJSON takes booleans too: kubectl reads YAML by its rules of 2005, by
// which On without quotes is the same as true.
func (p *PowerState) UnmarshalJSON(b []byte) error {
	switch text := string(b); {
	case text == "true":
		*p = PowerOn
	case text == "false":
		*p = PowerOff
	case text == "null":
	case strings.HasPrefix(text, `"`):
		return json.Unmarshal(b, (*string)(p))
	default:
		*p = PowerState(text) // reported with the other errors of the object
	}
	return nil
}
