// Package inspect looks at the state of a simulated Proxmox, for tests that ask
// what became of it: whether machines of others are as they were, whether there is
// one machine for each object that is wanted, whether something is left behind. It goes by the
// simulator's own state and not by what the engine believes.
package inspect
