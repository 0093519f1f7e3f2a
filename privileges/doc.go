// Package privileges computes the least privileges that manifests need: exactly those that
// Proxmox checks in all calls that may ever be made for them.
//
// [For] plans the whole life of the wanted objects on a simulated cluster: they are created,
// grown, corrected, started, moved, snapshotted, deleted. Each [model.Action] of these plans
// stands for calls of the API, and each call for checks: those that the schema of the
// release states, and those that Proxmox makes in code, which depend on the options, disks,
// bridges and devices of the call (see table.go). Where one of several privileges is enough,
// the smallest is taken.
//
// The result is a list of [Grant]: privileges on paths of Proxmox' access tree.
// [Needs.Missing] compares it with what credentials have, [Account.Commands]
// prints the pveum commands that grant exactly that.
//
// Everything here is pure: no calls are made.
package privileges
