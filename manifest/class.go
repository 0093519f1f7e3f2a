package manifest

import (
	"k8s.io/apimachinery/pkg/api/resource"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

// classFields are where a VMClass has what [spec.Class] names otherwise.
var classFields = fieldNames{
	"storage": "spec.storage.class", "type": "spec.storage.type", "machine": "spec.spec.machine", "bios": "spec.spec.bios", "secureBoot": "spec.spec.secureBoot",
	"cpuType": "spec.spec.cpuType", "scsiController": "spec.spec.scsiController", "vga": "spec.spec.vga",
}

func (t *translator) readClasses() {
	t.classes = map[model.Key]*spec.Class{}
	each(t, func(s scope, c *api.VMClass) {
		s.checkName()
		class := classOf(s.o.key.Name, &c.Spec)
		t.classes[s.o.key] = class
		whole := *class
		if class.CPUs == 0 && !s.o.says("spec.cpus") {
			s.fail("spec.cpus", "is missing")
			whole.CPUs = max(1, class.MaxCPUs, class.Sockets) // to find what else is wrong
		}
		if class.Memory.IsZero() && !s.o.says("spec.memory") {
			s.fail("spec.memory", "is missing")
			whole.Memory, whole.MinMemory = resource.MustParse("1Gi"), nil
		}
		errs, notes := whole.Check()
		s.take(errs, notes, classFields)
	})
}

func classOf(name string, c *api.VMClassSpec) *spec.Class {
	class := &spec.Class{
		Name: name, CPUs: c.CPUs, MaxCPUs: c.MaxCPUs, Sockets: c.Sockets, Memory: c.Memory, MinMemory: c.MinMemory, HotplugMemory: c.HotplugMemory,
		Machine: c.Spec.Machine, BIOS: c.Spec.BIOS, SecureBoot: c.Spec.SecureBoot, TPM: c.Spec.TPM, CPUType: c.Spec.CPUType,
		SCSIController: c.Spec.SCSIController, VGA: c.Spec.VGA, Serial: c.Spec.Serial, ExtraConfig: c.ExtraConfig,
	}
	class.Hugepages, class.KeepHugepages = c.Hugepages, c.KeepHugepages
	if c.CPU != nil {
		class.CPU = spec.CPU(*c.CPU)
	}
	if c.NUMA != nil {
		class.NUMA = &spec.NUMA{}
		for _, n := range c.NUMA.Nodes {
			class.NUMA.Nodes = append(class.NUMA.Nodes, spec.NUMANode(n))
		}
	}
	if c.Storage != nil {
		class.Storage, class.Type = c.Storage.Class, c.Storage.Type
	}
	return class
}
