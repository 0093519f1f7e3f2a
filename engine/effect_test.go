package engine_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pvesim"
)

func TestPlansForeseeWhatARunningMachineTakesAtItsNextStart(t *testing.T) {
	option := func(key, value string) func(*model.VM) {
		return func(v *model.VM) { v.Options[key] = value }
	}
	for name, change := range map[string]func(*model.VM){
		"cores": option("cores", "8"), "memory": option("memory", "8192"), "cpu": option("cpu", "host"), "onboot": option("onboot", "1"),
		"cpulimit": option("cpulimit", "2"), "no agent": option("agent", ""), "agent with trim": option("agent", "1,fstrim_cloned_disks=1"),
		"agent of another type": option("agent", "1,type=isa"), "no balloon": option("balloon", "0"), "balloon": option("balloon", "1024"),
		"tablet": option("tablet", "0"), "hotplug of CPUs": option("hotplug", "network,disk,usb,cpu"), "hotplug of disks": option("hotplug", "disk"),
		"startup": option("startup", "order=3"), "description": func(v *model.VM) { v.Description = "hello" },
		"an option less": func(v *model.VM) { delete(v.Options, "localtime"); v.Managed = nil },
		"tags":           func(v *model.VM) { v.Tags = []string{"blue"} },
		"disk":           func(v *model.VM) { v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Name: "data", Size: 1 << 30}) },
		"SATA disk":      func(v *model.VM) { v.Disks = append(v.Disks, model.Disk{Slot: "sata1", Name: "data", Size: 1 << 30}) },
		"SSD":            func(v *model.VM) { v.Disks[0].Options = map[string]string{"ssd": "1"} },
		"speed of disk":  func(v *model.VM) { v.Disks[0].Options = map[string]string{"mbps_rd": "100"} },
		"NIC":            func(v *model.VM) { v.NICs = append(v.NICs, model.NIC{Slot: "net1", Model: "virtio", Bridge: "vmbr1"}) },
		"bridge":         func(v *model.VM) { v.NICs[0].Bridge = "vmbr0" },
		"model of NIC":   func(v *model.VM) { v.NICs[0].Model = "e1000" },
		"some of both":   func(v *model.VM) { v.Tags, v.Options["cores"] = []string{"blue"}, "8" },
		"NIC without hotplug": func(v *model.VM) {
			v.Options["hotplug"] = "0"
			v.NICs = append(v.NICs, model.NIC{Slot: "net1", Model: "virtio", Bridge: "vmbr1"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, labWorld(1), func(t *testing.T, l *lab) {
				vm := machine("web")
				vm.Options["localtime"], vm.Managed = "1", []string{"localtime"}
				l.mustConverge(desired(vm))
				vm.Options, vm.NICs, vm.Disks = maps.Clone(vm.Options), slices.Clone(vm.NICs), slices.Clone(vm.Disks)
				change(&vm)
				p, err := l.engine().Plan(context.Background(), desired(vm))
				if err != nil {
					t.Fatal(err)
				}
				o := p.Objects[1]
				if len(o.Steps) == 0 {
					t.Fatalf("nothing is to be done: %+v", o)
				}
				step := o.Steps[0]
				l.converge(desired(vm))
				var pending []string
				l.vm("web", func(_ *pvesim.State, vm *pvesim.VM) {
					pending = slices.Concat(slices.Collect(maps.Keys(vm.Pending)), slices.Collect(maps.Keys(vm.Deletes)))
				})
				if later := step.Effect == plan.Later || step.Effect == plan.Partly; later != (len(pending) > 0) {
					t.Errorf("%s: %s (%s), and then %v waits", step.What, step.Reason(), step.Effect, pending)
				}
				if foreseen := len(o.Refused) > 0; foreseen != (len(pending) > 0) {
					t.Errorf("refused is %+v, and then %v waits", o.Refused, pending)
				}
				for _, d := range step.Diff {
					slot, _ := d.Slot()
					if waits := slices.Contains(pending, cmp.Or(slot, d.Field)); waits != d.Waits() {
						t.Errorf("%s (%s), and then %v waits", d, d.Effect, pending)
					}
				}
			})
		})
	}
}
