package model

import "strings"

// SlotFamily returns the kind of a numbered option: "scsi" of "scsi1". An option that isn't numbered is of none.
func SlotFamily(key string) string {
	name := strings.TrimRight(key, "0123456789")
	if name == key {
		return ""
	}
	return name
}
