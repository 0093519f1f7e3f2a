// Package prop reads and writes the property strings of Proxmox VM configs:
// values such as "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20" as typed Go
// structs.
//
//	n, err := prop.ParseNet("virtio=BC:24:11:00:00:01,bridge=vmbr0")
//	n.Tag = 20
//	n.String() // virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20
//
// What is printed is what Proxmox would store. It stores networks and disks in
// an order and spelling of its own, and all else as it was given; so what was
// parsed and not changed is printed as it was, with keys that are not known here
// (Extra), in its order, "on" not turned into "1".
//
// Equal compares meaning, not spelling: a default that is written out is the same
// as one left out, and case doesn't matter where Proxmox doesn't care about it. A
// plan built on Equal has no differences that come back for ever.
//
// Parsing checks what has to be known to understand a value: numbers, booleans,
// addresses, sizes. It doesn't judge words that only Proxmox interprets, such as
// the model of a network card, since later versions know more of them.
//
// A value that would break out of its place, with a comma, say, can't be stored
// in Proxmox. String prints such a character as %2C, so that no text from outside
// adds a property; Proxmox then refuses the value where it matters.
package prop
