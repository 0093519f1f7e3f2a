// Package operator reconciles the objects of infra.virtrigaud.io in a Kubernetes. Plans are
// made by the same code as for `proxplane apply`; here is only what Kubernetes adds.
//
// There are two loops (see docs/adr/0006):
//
//   - A namespace is translated as a whole whenever something in it changes: all its
//     objects become one [model.Desired] for each Provider, which a [site.Site] reconciles.
//     Providers with the same Proxmox cluster and credentials share what works on it.
//   - The status, events and finalizer of an object are written whenever the site reports
//     a new outcome of it, or somebody changes it.
//
// The state is in Kubernetes and in Proxmox: what is in memory can be lost at any moment. One
// of several replicas is the leader; the caches of the others are warm.
package operator
