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

		{name: "outside of its pool", world: pool, prepare: outsideOfItsPool, again: true, yaml: class + image + machine("one", fromImage+`
  pool: team`)},

		{name: "in a pool that it is to leave", world: pool, prepare: inAPool, again: true, yaml: class + image + machine("one", fromImage)},

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

		// It hears the power button.
		{name: "apart, from a template with local disks", world: func(w *pvesim.World) {
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
