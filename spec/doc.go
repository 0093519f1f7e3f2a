// Package spec translates the wanted state, as typed Go values, into that of package model.
//
// A [Cluster] has the settings for all machines of a Proxmox cluster; a [Machine], with its
// [Class] and [Image], describes one machine. [Translation.Machine] makes a [model.VM] of
// it, or reports errors: each [Error] has the path of a field and a sentence. The door is
// part of the machine's owner.
//
// A Translation is for machines that are wanted together: it finds duplicate addresses, and
// hashes secrets in parallel. For a single machine there is [VM].
package spec
