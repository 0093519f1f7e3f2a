// Package loadtest puts a load onto a Proxmox and measures how it goes: machines are
// made, started, described, changed, snapshotted, copied, shut down and removed
// again, so many in all and so many at once.
//
// It wants things of an engine as the other front doors do, and counts the requests
// of the client that the engine uses. The machines are of a set of their own, by
// which those of a run that was killed are found and removed by the next one.
package loadtest
