// Package pvesim is a Proxmox VE in one process: its HTTP API with tasks,
// locks, permissions, storages and guests that take their time, and with
// faults on request. Any Proxmox client, in any language, can be developed
// and tested against it.
//
// # How it works
//
// The whole state is one [State], guarded by one lock. A request runs in a
// goroutine of its own that holds the lock except while it waits (for a
// lock file, for time to pass); a task is another such goroutine. Code
// therefore reads like the daemon it stands for: take the config lock,
// check, change, sleep as long as the disk copy takes, write the config.
// Time passes on an injected [Clock], so that a test under testing/synctest
// lives through minutes in milliseconds.
//
// Requests are checked against Proxmox' own schema (package pve/schema):
// every endpoint knows its parameters and permissions, whether or not what
// it does is simulated. Endpoints that aren't simulated answer 501.
package pvesim
