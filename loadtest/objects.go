package loadtest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

// Machines are the settings of the load's machines.
type Machines struct {
	Set        string // that they belong to, and nothing else
	Count      int
	Image      string   // a template's name or VMID
	Nodes      []string // that they may be made on; empty: any
	ISOStorage string   // for first-boot data
	Memory     string   // of each, such as "512Mi"
}

// objects are what can be wanted.
type objects struct {
	image     model.Image
	machines  []model.VM // stopped, with one CPU
	larger    []model.VM // the same with two
	snapshots []model.Snapshot
	copies    []model.VM
}

// maxCPUs is up to how many CPUs can be plugged in.
const maxCPUs = 4

func (m Machines) objects() (w objects, err error) {
	memory, err := resource.ParseQuantity(m.Memory)
	if err != nil {
		return w, fmt.Errorf("memory %q: %w", m.Memory, err)
	}
	image := spec.Image{Owner: m.owner("VMImage", "load"), Source: m.Image}
	no := false
	machine := func(i, cpus int) spec.Machine {
		return spec.Machine{
			Owner:  m.owner("VirtualMachine", name(i)),
			Class:  &spec.Class{Name: "load", CPUs: cpus, MaxCPUs: maxCPUs, Memory: memory},
			Source: spec.Source{Image: &image}, Power: model.PowerOff, Place: model.Place{Nodes: m.Nodes}, Agent: &spec.Agent{WaitForAddress: &no},
			FirstBoot: spec.FirstBoot{UserData: &spec.UserData{CloudInit: &spec.CloudInit{Text: spec.Text{Content: "#cloud-config\n{}\n"}}}},
		}
	}
	copyOf := func(i int) spec.Machine {
		return spec.Machine{
			Owner: m.owner("VMClone", name(i)+"-copy"), Source: spec.Source{Image: &image, Copy: true}, Power: model.PowerOff,
			Place: model.Place{Nodes: m.Nodes}, Agent: &spec.Agent{WaitForAddress: &no}, FirstBoot: spec.FirstBoot{Inherited: true},
		}
	}
	ones, twos, copies := make([]spec.Machine, m.Count), make([]spec.Machine, m.Count), make([]spec.Machine, m.Count)
	for i := range m.Count {
		ones[i], twos[i], copies[i] = machine(i, 1), machine(i, 2), copyOf(i)
		snapshot, errs := spec.Snapshot{Owner: m.owner("VMSnapshot", name(i)), Of: &ones[i], IncludeMemory: true}.Translate()
		if len(errs) > 0 {
			return w, errs
		}
		w.snapshots = append(w.snapshots, snapshot)
	}
	cluster := &spec.Cluster{Defaults: spec.Defaults{ISOStorage: m.ISOStorage}}
	for _, part := range []struct {
		list []spec.Machine
		to   *[]model.VM
	}{{ones, &w.machines}, {twos, &w.larger}, {copies, &w.copies}} {
		all, err := spec.Desired(cluster, m.Set, part.list, []spec.Image{image})
		if err != nil {
			return w, err
		}
		*part.to, w.image = all.VMs, all.Images[0]
	}
	return w, nil
}

func name(i int) string { return fmt.Sprintf("load-%04d", i+1) }

// door is who the machines are known by. It is that of manifests, so that machines which an
// earlier version has left are found.
const door = "vm"

func (m Machines) owner(kind, name string) model.Owner {
	return model.Owner{Door: door, Set: m.Set, Key: model.Key{Kind: kind, Name: name}}
}
