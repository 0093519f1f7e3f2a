// Package loadtest puts a load onto a Proxmox and measures how it goes: machines are
// made, started, described, changed, snapshotted, copied, shut down and removed
// again, so many in all and so many at once.
//
// It puts machines into a site as other programs do, and counts the requests of the
// site's client. The machines are of a set of their own, by
// which those of a run that was killed are found and removed by the next one.
package loadtest
