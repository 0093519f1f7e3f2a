// Package operator reconciles the objects of infra.virtrigaud.io in a Kubernetes. Plans are
// made by the same code as for `proxplane apply`; here is only what Kubernetes adds.
//
// Two things go round (see docs/adr/0006):
//
//   - A namespace is translated as a whole whenever something in it changes: all its
//     objects become one [model.Desired] for each Provider, and a session of the
//     engine for each Provider makes that so. One observer a Provider sees for all.
//   - An object has its status, its events and its finalizer written whenever the
//     session tells something new of it, or somebody changes it.
//
// The state is Kubernetes' own and Proxmox': what is in memory can be lost at any
// moment. Of several replicas one works; the others have everything ready.
package operator
