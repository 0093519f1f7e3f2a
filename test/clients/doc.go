// Package clients proves the simulator with clients that know nothing of it:
// OpenTofu with the public bpg/proxmox provider, and a small program on
// go-proxmox. Each creates, changes and destroys machines on `proxplane sim`,
// and the tests look over the plain API at what became of them.
//
// The clients are built from their Go modules, unmodified, into a cache
// outside of the checkout (PROXPLANE_TOOLS, by default proxplane/tools in the
// user's cache folder), once for each version.
package clients
