// Package kubelet lets simulated machines join a real Kubernetes. A [Fleet] watches simulated
// Proxmox clusters: when a VM boots, it reads the VM's seed ISO as the system inside would
// (cloud-config, Ignition or a Talos machine config: kubeadm, k3s, RKE2, or a kubelet with a bootstrap
// kubeconfig), does the real TLS bootstrap with the token that it finds there, registers the Node,
// asks for a serving certificate, renews the lease, and runs the pods that are bound to the Node as far
// as their status goes. When the VM stops, all that ends in the same moment, and Kubernetes
// notices it by the lease.
//
// What a machine has learnt (its settings and certificates) stays on its disk: it comes back after
// a reboot also when its seed is gone.
//
// A node costs a connection to the API server, a timer and a few goroutines that wait; pods are watched once for all.
package kubelet
