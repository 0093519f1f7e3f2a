package privs_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

// exampleWorld has all that the examples name.
func exampleWorld(w *pvesim.World) {
	for _, name := range []string{"pve-1", "pve-2", "pve-3", "pve-node-1", "pve-node-2"} {
		node := w.Nodes[0]
		node.Name, node.IP = name, ""
		w.Nodes = append(w.Nodes, node)
	}
	for _, name := range []string{"nvme-storage", "ssd-storage"} {
		w.Storages = append(w.Storages, pvesim.WorldStorage{
			Name: name, Type: "nfs", Path: "/mnt/pve/" + name, Content: []string{"images"}, Size: 4 << 40,
			Options: map[string]string{"server": "192.168.77.10", "export": "/srv/" + name},
		})
	}
	template := w.Guests[0]
	template.ID = 9001
	template.Config = map[string]string{"name": "template-vm", "scsi0": "nfs:4", "net0": "virtio,bridge=vmbr1", "agent": "1", "boot": "order=scsi0"}
	w.Guests = append(w.Guests, template)
}

// stories are the examples, and what they have nothing of.
func stories(t *testing.T) []story {
	folders, err := filepath.Glob(filepath.Join("..", "examples", "seed", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var all []story
	for _, f := range folders {
		all = append(all, story{name: filepath.Base(f), yaml: example(t, "seed/"+filepath.Base(f)), world: exampleWorld})
	}
	return slices.Concat(all, ownStories)
}

const class = `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 1, memory: 1Gi}
---
`

const base = class + `apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu}
spec: {source: ubuntu-22-template}
---
`

// ownStories have what the examples don't.
var ownStories = []story{
	{name: "in a pool", world: func(w *pvesim.World) { w.Pools = append(w.Pools, pvesim.WorldPool{ID: "team"}) }, yaml: base + `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: one}
spec:
  classRef: {name: small}
  imageRef: {name: ubuntu}
  pool: team
  networks: [{name: lan}]
  disks: [{name: root, size: 10Gi}, {name: data, size: 1Gi, storage: local-lvm}]
`},
	{name: "with its VMID", yaml: base + `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: one}
spec:
  vmid: 777
  classRef: {name: small}
  imageRef: {name: ubuntu}
  networks: [{name: lan, bridge: vmbr1, vlan: 7}, {name: mgmt}]
  startup: {order: 3}
  protection: false
  deletionPolicy: Retain
`},
	{name: "highly available", yaml: base + `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: one}
spec:
  classRef: {name: small}
  imageRef: {name: ubuntu}
  ha: {}
`},
	{name: "from nothing", world: func(w *pvesim.World) {
		w.Systems = append(w.Systems, pvesim.WorldSystem{VMID: 778, System: pvesim.WithAgent}) // hears the power button
	}, yaml: class + `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: one}
spec:
  vmid: 778
  classRef: {name: small}
  networks: [{name: lan}]
  agent: {enabled: false}
  disks: [{name: root, size: 4Gi, storage: local-lvm}]
`},
	{name: "reverted", yaml: base + `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: one}
spec:
  classRef: {name: small}
  imageRef: {name: ubuntu}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMSnapshot
metadata: {name: clean}
spec:
  vmRef: {name: one}
  revert: first
`},
}
