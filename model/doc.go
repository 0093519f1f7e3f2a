// Package model has the nouns that all parts share: what is wanted, what is
// there, and the actions that lead from one to the other.
//
// The vocabulary: people want things ([Desired]), Proxmox has things
// ([Observed]), a plan is made of steps, a step is one [Action], an action
// may start a task, and a guest may carry a lock.
//
// Guests are described in Proxmox' own terms, made canonical: options are
// spelt as Proxmox stores them, with defaults left out, so that wanted and
// observed values can be compared as they are. Making them canonical is up to
// those who read manifests and those who read Proxmox.
package model
