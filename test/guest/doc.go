// Package guest shows that what proxplane makes really boots: from the
// manifest to the file inside the guest, on a simulated Proxmox whose guests
// are QEMU processes.
//
// The tests with the tiny guest (folder tiny) belong to all tests. Those with
// Debian's own cloud-init take minutes and run with -debian; see
// docs/simulator.md.
package guest
