// Package qemu runs the guests of a simulated Proxmox VE as real QEMU
// processes, so that what is made through its API can be seen to boot.
//
// A guest's disks are qcow2 files in the backend's folder, whatever the
// simulated storage; a linked clone stands on the file of its base. Network
// cards are plugged into a switch inside this process, which also answers
// DHCP, so no privileges are needed. QEMU's monitor, the guest agent and the
// serial ports are socket pairs: nothing of a guest can be reached from
// outside, and all of it ends with this process.
//
// Guests are emulated. Where /dev/kvm can be opened it may still not run a
// kernel, as in most containers and nested machines, so it isn't tried.
package qemu

// Packages are those of Debian that have what is needed.
const Packages = "qemu-system-x86 qemu-utils ovmf"
