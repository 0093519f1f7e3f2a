// Package loadtest puts a load on a Proxmox and measures it: machines are created, started,
// described, changed, snapshotted, copied, shut down and removed, a number in total and a
// number at once.
//
// It uses a site as other programs do, and counts the requests of the site's client. The
// machines are a set of their own, so that the next run finds and removes the machines of a
// killed one.
package loadtest
