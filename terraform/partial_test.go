package terraform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

// What fails with one machine of a resource keeps the others from nothing: they are as they should be when the apply ends.
func TestOneOfSeveralMachinesFails(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		const kind = "proxplane_virtual_machine"
		config := benchMachine("web", 6)
		var ids []int
		f.process(func() { ids = f.plannedVMIDs(f.planned(f.none(kind), config)) })
		fault, err := f.cluster.AddFault(pvesim.Fault{Task: "qmstart", VM: ids[0], Error: "MAX 0 vcpus allowed per VM on this node"})
		if err != nil {
			t.Fatal(err)
		}
		var of resourceState
		var out said
		f.process(func() { of, out = f.apply(f.planned(f.none(kind), config)) })
		if !out.failed || strings.Count(out.text, "ERROR") != 1 || !strings.Contains(out.text, "web-1 isn't ready") {
			t.Errorf("it says %s", out)
		}
		running := map[int]bool{}
		f.cluster.Do(func(st *pvesim.State) {
			for _, id := range ids {
				running[id] = st.VMs[id] != nil && st.VMs[id].Run != nil
			}
		})
		for i, id := range ids {
			if running[id] != (i > 0) {
				t.Errorf("web-%d (VM %d) runs: %v", i+1, id, running[id])
			}
		}
		f.cluster.RemoveFault(fault)
		f.process(func() {
			var s step
			if of, out = f.read(of); out.failed {
				t.Fatal(out)
			}
			s = f.planned(f.none(kind), config) // of what is tainted, the prior state is null
			if of, out = f.apply(s); out.failed || !slices.Equal(f.vmids(of.state), ids) {
				t.Errorf("VMs %v are %v then\n%s", ids, f.vmids(of.state), out)
			}
		})
	})
}

// If many fail, all are named.
func TestAllThatFailAreNamed(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		if _, err := f.cluster.AddFault(pvesim.Fault{Task: "qmstart", Error: "MAX 0 vcpus allowed per VM on this node"}); err != nil {
			t.Fatal(err)
		}
		f.process(func() {
			_, out := f.apply(f.planned(f.none("proxplane_virtual_machine"), benchMachine("web", 6)))
			if strings.Count(out.text, "ERROR") != 4 {
				t.Errorf("it says %s", out)
			}
			for i := range 6 {
				if name := fmt.Sprintf("web-%d isn't ready", i+1); !strings.Contains(out.text, name) {
					t.Errorf("nothing says %q: %s", name, out)
				}
			}
		})
	})
}
