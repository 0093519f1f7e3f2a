package model

import (
	"strconv"
	"strings"
)

// Text is a text that depends on the guest that it is for. Its parts are put together
// when the guest's VMID is known.
type Text []Part

// Part is a part of a Text: a fixed one, or something of the guest's own.
type Part struct {
	Fixed string `json:",omitempty"`
	Own   Own    `json:",omitempty"`
}

// Own is something that each guest has of its own.
type Own string

// What texts may have in them.
const (
	OwnVMID Own = "VMID"
	OwnSeed Own = "seed" // the name of the guest's first-boot data, see [Seed.Name]
)

// For is the text for a guest with that VMID and that name of its first-boot data.
func (t Text) For(vmid int, seed string) string {
	var b strings.Builder
	for _, p := range t {
		switch p.Own {
		case OwnVMID:
			b.WriteString(strconv.Itoa(vmid))
		case OwnSeed:
			b.WriteString(seed)
		default:
			b.WriteString(p.Fixed)
		}
	}
	return b.String()
}
