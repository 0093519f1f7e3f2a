// Package model has the nouns that all packages share: the wanted state, the observed
// state, and the actions that lead from one to the other.
//
// The vocabulary: people want things ([Desired]), Proxmox has things
// ([Observed]), a plan is made of steps, a step is one [Action], an action
// may start a task, and a guest may carry a lock.
//
// Guests are described in Proxmox' own terms, made canonical: options are spelt as Proxmox
// stores them, with defaults left out, so that wanted and observed values can be compared
// as they are. Packages spec and observe make them canonical.
package model
