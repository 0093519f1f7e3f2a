// Package pve is a client for the Proxmox VE API that can be trusted with writes.
//
//	c, err := pve.New(pve.Config{
//		Endpoints:   []string{"https://pve1:8006", "https://pve2:8006"},
//		Credentials: pve.Token("automation@pve!ci", secret),
//	})
//	vm := c.VM("pve1", 9000)
//	upid, err := vm.Clone(ctx, pve.CloneOptions{NewID: 101, Name: "web-1"})
//	_, err = c.Task(upid).Wait(ctx)
//
// What sets it apart:
//
//   - Reads are retried, writes never: a write whose answer was lost is reported as
//     [ErrUnknownOutcome], so that the caller can look before deciding. A write goes to another
//     endpoint only when it is certain that the first one never got it.
//   - Errors have kinds. errors.Is(err, pve.ErrLocked) works for an HTTP answer and for the exit
//     status of a task alike, and [Error] keeps everything that Proxmox said.
//   - Many tasks are followed with one list call per node and period, see [Watcher].
//   - Secrets don't show up in logs, errors or printed values, and never travel in a query.
//
// Calls are grouped by what they act on: [Client.Node], [Client.VM], [Client.Storage],
// [Client.Task], [Client.Access], [Client.Cluster], [Client.HA], [Client.Mapping],
// [Client.Firewall], [Client.Pool]. What has no typed call can be reached with [Client.Call].
//
// Option structs follow one rule: a zero field isn't sent. Where the zero value means something
// else than Proxmox' default, the field is a pointer: Full: new(false).
package pve
