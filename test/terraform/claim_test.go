package terraform_test

import (
	"fmt"
	"maps"
	"testing"
)

// called is a machine at an address.
func called(address, more string) string {
	return fmt.Sprintf(`
resource "proxplane_virtual_machine" %q {
  name  = "db"
  class = { cpus = 1, memory = "1Gi" }
  image = { source = "ubuntu-22-template" }
  %s
}
`, address, more)
}

// A machine is known by its name, and Terraform knows resources by their addresses. Whatever people do with addresses, no machine is
// destroyed while a resource still has it, and none has two resources.
func TestAddressesAndNamesDontDisagree(t *testing.T) {
	b := begin(t)
	b.config(called("a", "") + called("b", ""))
	b.says(b.refused(), "Two resources are db")
	b.config(called("a", ""))
	b.apply()
	since := b.running()

	b.config(called("b", ""))
	b.says(b.refused(), "db is destroyed by one resource and wanted by another", "say so in a moved block")
	b.config(called("b", "") + "moved {\n  from = proxplane_virtual_machine.a\n  to = proxplane_virtual_machine.b\n}\n")
	b.apply()
	b.settled()

	// The new resource finds the machine of the old one.
	b.config(called("b", "lifecycle {\n    create_before_destroy = true\n  }"))
	b.says(b.do("apply", "-auto-approve", "-replace=proxplane_virtual_machine.b"), "db isn't destroyed", "use -replace without create_before_destroy")
	b.settled()
	if now := b.running(); !maps.Equal(now, since) {
		t.Errorf("it ran since %v, and runs since %v", since, now)
	}

	b.config(called("b", ""))
	b.do("apply", "-auto-approve", "-replace=proxplane_virtual_machine.b")
	b.settled()
	if now := b.running(); len(now) != 1 || maps.Equal(now, since) {
		t.Errorf("it runs since %v", now)
	}
}
