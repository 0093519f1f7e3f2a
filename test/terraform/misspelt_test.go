package terraform_test

import (
	"strings"
	"testing"
)

// Names that an object doesn't have are dropped by OpenTofu; the provider says so, in a resource and in a call of the module.
func TestMisspeltNamesInObjectsAreTold(t *testing.T) {
	b := begin(t)
	b.config(strings.Replace(shop(1, "2Gi", ""), "vlan = 5", "vlna = 5", 1))
	b.says(b.refused(), "Unsupported nested attribute", "proxplane_virtual_machine.db: networks[0].vlna: did you mean vlan?")
	if b.machines() != "" {
		t.Errorf("there is %s", b.machines())
	}
}

func TestMisspeltNamesInCallsOfTheModuleAreTold(t *testing.T) {
	b := example(t, "flatcar")
	b.with(`networks = [{ bridge = "vmbr0", vlan = 5 }]`)
	b.says(b.planned(), "A nested attribute has no effect", "main.tf:", "module.flatcar: networks[0].vlan: known are bridge, macaddr, mtu, tag")
}
