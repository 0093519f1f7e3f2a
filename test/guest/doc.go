// Package guest shows that what proxplane makes really boots: from the
// manifest to the file inside the guest, on a simulated Proxmox whose guests
// are QEMU processes. The guest is a tiny one, see the folder tiny.
package guest
