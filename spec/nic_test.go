package spec

import (
	"fmt"
	"testing"

	"github.com/proxplane/proxplane/model"
)

func TestAddressesOfOurOwnAreStableAndApart(t *testing.T) {
	owner := model.Owner{Door: "vm", Set: "a", Key: model.Key{Kind: "VirtualMachine", Name: "web"}}
	first := MAC(owner, "lan")
	if !goodMAC(first) || first[1] != '2' && first[1] != '6' && first[1] != 'A' && first[1] != 'E' {
		t.Errorf("%s isn't an address that anybody may give away", first)
	}
	seen := map[string]bool{}
	for i := range 1000 {
		owner.Name = fmt.Sprint("vm-", i)
		for _, name := range []string{"lan", "dmz"} {
			mac := MAC(owner, name)
			if mac != MAC(owner, name) || seen[mac] {
				t.Fatalf("%s comes twice, or isn't stable", mac)
			}
			seen[mac] = true
		}
	}
}
