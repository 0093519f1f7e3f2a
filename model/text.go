package model

import (
	"strconv"
	"strings"
)

// Text is a text that depends on its guest. Its parts are joined when the guest's VMID is
// known.
type Text []Part

// Part is a part of a Text: fixed, or a value of the guest.
type Part struct {
	Fixed string `json:",omitempty"`
	Own   Own    `json:",omitempty"`
}

// Own is a value that differs between guests.
type Own string

// The values.
const (
	OwnVMID Own = "VMID"
	OwnSeed Own = "seed" // the name of the guest's first-boot data, see [Seed.Name]
)

// For returns the text for a guest with that VMID and that name of its first-boot data.
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
