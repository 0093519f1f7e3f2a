package guest

import (
	"testing"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/image"
	"github.com/proxplane/proxplane/test/kit/need"
)

func TestGuestsBootThroughUEFIWithSecureBoot(t *testing.T) {
	t.Parallel()
	w := tinyWorld(t)
	disk, err := image.UEFIDisk(t.Context(), quiet)
	need.None(t, err)
	const volume = "9100/vm-9100-disk-0.qcow2"
	w.Storages[0].Volumes = append(w.Storages[0].Volumes, pvesim.WorldVolume{Name: volume, File: disk})
	w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 9100, Node: "pve1", Template: true, Config: map[string]string{
		"name": "tiny-uefi", "bios": "ovmf", "machine": "q35", "ostype": "l26", "agent": "enabled=1", "scsihw": "virtio-scsi-pci", "serial0": "socket",
		"scsi0": "local:" + volume + ",size=96M", "boot": "order=scsi0",
	}})
	l := newLab(t, w)
	l.apply(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: secure}
spec:
  cpus: 1
  memory: 512Mi
  spec: {machine: q35, bios: uefi, secureBoot: true}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: signed}
spec: {source: tiny-uefi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: safe}
spec:
  classRef: {name: secure}
  imageRef: {name: signed}
  networks: [{name: lan, bridge: vmbr0, staticIP: {address: 192.168.77.20/24}}]
  userData: {cloudInit: {inline: "#!/bin/sh\necho done > /run/said\n"}}
  agent: {waitForAddress: true}
`)
	vm := l.vm("safe")
	l.shows(vm, "cat /run/said", "done")
	l.has(vm, "dmesg | grep -c 'secureboot: Secure boot enabled'", "1")
	l.has(vm, "ip -o addr show eth0 | grep -c 'inet 192.168.77.20/24'", "1")
}
