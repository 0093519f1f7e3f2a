// Package spec turns what is wanted, as typed Go values, into what the engine works on.
//
// A [Cluster] says what holds for all machines of a Proxmox cluster; a [Machine],
// with its [Class] and [Image], says what one machine is to be. [Translation.Machine]
// makes a [model.VM] of it, or says what is wrong with it: each [Error] has the path of
// a field and a sentence. Which door asks is part of the machine's owner.
//
// A Translation is for machines that are wanted together: it finds addresses that two of
// them have, and hashes their secrets side by side. For one machine alone there is [VM].
package spec
