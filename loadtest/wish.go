package loadtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
)

// Machines says which machines the load is made of.
type Machines struct {
	Set        string // that they belong to, and nothing else
	Count      int
	Image      string   // a template's name or VMID
	Nodes      []string // that they may be made on; empty: any
	ISOStorage string   // for first-boot data
	Memory     string   // of each, such as "512Mi"
}

// header is what the machines have in common: a class before and one after CPUs are
// plugged in, the image, and the nodes.
const header = `apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: load}
spec: {defaults: {isoStorage: %q}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: load}
spec: {cpus: %d, maxCPUs: 4, memory: %q}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: load}
spec: {source: %q}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMPlacementPolicy
metadata: {name: load}
spec: {nodeSelector: [%s]}
`

const machine = `---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: %[1]s}
spec:
  classRef: {name: load}
  imageRef: {name: load}
  placementRef: {name: load}
  powerState: "Off"
  agent: {waitForAddress: false}
  userData:
    cloudInit:
      inline: |
        #cloud-config
        hostname: %[1]s
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMSnapshot
metadata: {name: %[1]s}
spec: {vmRef: {name: %[1]s}, includeMemory: true}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClone
metadata: {name: %[1]s-copy}
spec: {sourceVMRef: {name: load}, linkedClone: true, powerState: "Off", placementRef: {name: load}, agent: {waitForAddress: false}}
`

// wishes are the objects that can be wanted, as the manifests of a person would say
// them.
type wishes struct {
	image     model.Image
	machines  []model.VM // stopped, with one CPU
	larger    []model.VM // the same with two
	snapshots []model.Snapshot
	copies    []model.VM
}

func (m Machines) wishes() (wishes, error) {
	one, err := m.desired(1)
	if err != nil {
		return wishes{}, err
	}
	two, err := m.desired(2)
	if err != nil {
		return wishes{}, err
	}
	w := wishes{image: one.Images[0], snapshots: one.Snapshots, larger: kindOf(two, "VirtualMachine")}
	w.machines, w.copies = kindOf(one, "VirtualMachine"), kindOf(one, "VMClone")
	if len(w.machines) != m.Count || len(w.larger) != m.Count || len(w.copies) != m.Count || len(w.snapshots) != m.Count {
		return wishes{}, fmt.Errorf("%d machines are wanted, and the manifests have %d", m.Count, len(w.machines))
	}
	return w, nil
}

func kindOf(d model.Desired, kind string) []model.VM {
	return slices.DeleteFunc(slices.Clone(d.VMs), func(v model.VM) bool { return v.Owner.Kind != kind })
}

// desired is what the manifests say, with so many CPUs.
func (m Machines) desired(cpus int) (model.Desired, error) {
	var nodes []string
	for _, n := range m.Nodes {
		nodes = append(nodes, fmt.Sprintf("%q", n))
	}
	var text strings.Builder
	fmt.Fprintf(&text, header, m.ISOStorage, cpus, m.Memory, m.Image, strings.Join(nodes, ", "))
	for i := range m.Count {
		fmt.Fprintf(&text, machine, fmt.Sprintf("load-%04d", i+1))
	}
	set, err := manifest.Parse("load", []byte(text.String()))
	if err != nil {
		return model.Desired{}, err
	}
	// Where Proxmox is and who asks is somebody else's business.
	env := map[string]string{"PVE_ENDPOINT": "https://load.invalid:8006", "PVE_USERNAME": "load@pam", "PVE_PASSWORD": "load"}
	all, err := set.Wanted(manifest.Options{Set: m.Set, Getenv: func(name string) string { return env[name] }})
	if err != nil {
		return model.Desired{}, err
	}
	return all[0].Desired, nil
}
