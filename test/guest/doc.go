// Package guest shows that what proxplane makes really boots: from the
// manifest to the file inside the guest, on a simulated Proxmox whose guests
// are QEMU processes. The guest is a tiny one, see the folder tiny; with -debian
// there is also one with Debian, real cloud-init and Ignition.
package guest
