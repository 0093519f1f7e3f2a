package privileges_test

import (
	"context"
	"maps"
	"slices"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

const class = `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 1, memory: 1Gi}
---
`

const image = `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu}
spec: {source: ubuntu-22-template}
---
`

// addresses is a network with three addresses for machines.
const addresses = `
apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: pve}
spec:
  networks:
    lan:
      bridge: vmbr0
      pool: {prefix: 192.168.1.0/24, ranges: [192.168.1.100-192.168.1.102], gateway: 192.168.1.1, dns: [192.168.1.1]}
---
`

// machine is a VirtualMachine of the class, with the rest of its spec.
func machine(name, rest string) string {
	return `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: ` + name + `, labels: {app: web}}
spec:
  classRef: {name: small}
` + rest + `
---
`
}

const fromImage = "  imageRef: {name: ubuntu}\n"

// ownStories have what the examples don't.
func ownStories() []story {
	pool := func(w *pvesim.World) { w.Pools = append(w.Pools, pvesim.WorldPool{ID: "team"}) }
	return []story{
		{name: "in a pool", world: pool, yaml: class + image + machine("one", fromImage+`
  pool: team
  networks: [{name: lan}]
  disks: [{name: root, size: 10Gi}, {name: data, size: 1Gi, storage: local-lvm}]`)},

		{name: "outside of its pool", hidden: "that there is a machine outside of the pool", world: pool, prepare: outsideOfItsPool, again: true, yaml: class + image + machine("one", fromImage+`
  pool: team`)},

		{name: "in a pool that it is to leave", hidden: "that the machine is in the pool", unseen: true, world: pool, prepare: inAPool, again: true, yaml: class + image + machine("one", fromImage)},

		{name: "with its VMID", yaml: class + image + machine("one", fromImage+`
  vmid: 777
  networks: [{name: lan, bridge: vmbr1, vlan: 7}, {name: mgmt}]
  startup: {order: 3}
  protection: false
  deletionPolicy: Retain`)},

		{name: "highly available", yaml: class + image + machine("one", fromImage+`
  ha: {}`)},

		{name: "highly available, apart", yaml: class + image + machine("one", fromImage+`
  ha: {}
  placementRef: {name: apart}`) + machine("two", fromImage+`
  ha: {}
  placementRef: {name: apart}`) + `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMPlacementPolicy
metadata: {name: apart}
spec: {antiAffinity: [{key: app, operator: In, values: [web]}]}
`},

		{name: "apart, from a template with local disks", hidden: "that the template has to be copied", world: func(w *pvesim.World) {
			w.Guests[0].Config = maps.Clone(w.Guests[0].Config)
			w.Guests[0].Config["scsi0"] = "local-lvm:4"
		}, yaml: class + image + machine("one", fromImage+`
  placementRef: {name: apart}`) + machine("two", fromImage+`
  placementRef: {name: apart}`) + `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMPlacementPolicy
metadata: {name: apart}
spec: {antiAffinity: [{key: app, operator: In, values: [web]}]}
`},

		// It hears the power button.
		{name: "from nothing", world: func(w *pvesim.World) {
			w.Systems = append(w.Systems, pvesim.WorldSystem{VMID: 778, System: pvesim.WithAgent})
		}, yaml: class + machine("one", `
  vmid: 778
  networks: [{name: lan}]
  agent: {enabled: false}
  disks: [{name: root, size: 4Gi, storage: local-lvm}]`)},

		{name: "from nothing, in a pool", world: func(w *pvesim.World) {
			pool(w)
			w.Systems = append(w.Systems, pvesim.WorldSystem{VMID: 778, System: pvesim.WithAgent})
		}, yaml: class + machine("one", `
  vmid: 778
  pool: team
  tags: [web]
  networks: [{name: lan}]
  agent: {enabled: false}
  disks: [{name: root, size: 4Gi, storage: local-lvm}]`)},

		{name: "from an ISO image", world: func(w *pvesim.World) {
			w.Systems = append(w.Systems, pvesim.WorldSystem{VMID: 778, System: pvesim.WithAgent})
			w.Storages[0].Volumes = append(w.Storages[0].Volumes, pvesim.WorldVolume{Name: "iso/install.iso", Text: "x"})
		}, yaml: class + `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: installer}
spec: {iso: install.iso}
---
` + machine("one", `
  vmid: 778
  imageRef: {name: installer}
  agent: {enabled: false}
  disks: [{name: root, size: 4Gi, storage: local-lvm}]`)},

		{name: "reverted", yaml: class + image + machine("one", fromImage) + `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMSnapshot
metadata: {name: clean}
spec:
  vmRef: {name: one}
  revert: first
`},

		{name: "cloned from a machine", yaml: class + image + machine("one", fromImage+`
  networks: [{name: dmz}]
  disks: [{name: root}, {name: data, size: 1Gi, storage: local}]`) + `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClone
metadata: {name: copy}
spec:
  sourceVMRef: {name: one}
`},

		{name: "with a share", prepare: share, yaml: class + image + machine("one", fromImage+`
  extraConfig: {virtiofs0: "dirid=share", rng0: "source=/dev/hwrng"}`), world: func(w *pvesim.World) { w.Dirs = append(w.Dirs, "/srv/share") }},

		{name: "drained", moves: true, yaml: class + image + machine("one", fromImage)},

		{name: "drained, with local disks", moves: true, yaml: class + image + machine("one", fromImage+`
  vmid: 777
  disks: [{name: root}, {name: data, size: 1Gi, storage: local-lvm}]`)},

		{name: "with an address of a pool", world: func(w *pvesim.World) {
			pool(w)
			w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 500, Node: "pve2", Config: map[string]string{"name": "theirs", "ipconfig0": "ip=192.168.1.100/24"}})
			w.Containers = append(w.Containers, pvesim.WorldContainer{ID: 501, Node: "pve3", Config: map[string]string{"hostname": "ct", "net0": "name=eth0,bridge=vmbr0,ip=192.168.1.101/24"}})
		}, yaml: class + image + addresses + machine("one", fromImage+`
  pool: team
  networks: [{name: lan, staticIP: {fromPool: lan}}]`)},

		{name: "where tags are restricted", prepare: restrictTags, yaml: class + image + machine("one", fromImage)},
	}
}

// outsideOfItsPool makes the machine where it doesn't belong.
func outsideOfItsPool(c *cluster, want model.Desired) error {
	want.VMs = slices.Clone(want.VMs)
	want.VMs[0].Pool = ""
	return c.converge(engineFor(c.root), want)
}

// inAPool makes the machine in a pool that its manifest named once.
func inAPool(c *cluster, want model.Desired) error {
	want.VMs = slices.Clone(want.VMs)
	want.VMs[0].Pool = "team"
	return c.converge(engineFor(c.root), want)
}

func share(c *cluster, _ model.Desired) error {
	return c.root.Mapping().CreateDir(context.Background(), pve.NewDirMapping{ID: "share", Map: []string{"node=pve1,path=/srv/share", "node=pve2,path=/srv/share", "node=pve3,path=/srv/share"}})
}

func restrictTags(c *cluster, _ model.Desired) error {
	return c.root.Call(context.Background(), "PUT", "/cluster/options", pve.Params{"user-tag-access": "user-allow=none"}, nil)
}
