package spec_test

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

func TestReplicasHaveNamesVMIDsAndAddressesOfTheirOwn(t *testing.T) {
	m := spec.Machine{
		Owner: model.Owner{Door: "terraform", Set: "shop", Key: model.Key{Kind: "VirtualMachine", Name: "web"}}, Name: "www", VMID: 200,
		Networks: []spec.Network{{Name: "lan", StaticIP: &spec.StaticIP{Address: "10.0.0.252/24", Addresses: []string{"fd00::9/64"}}}},
	}
	second, errs := m.Replica(1, 2)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	ip := second.Networks[0].StaticIP
	if second.Owner.Name != "web-2" || second.Name != "www-2" || second.VMID != 201 || ip.Address != "10.0.0.253/24" || ip.Addresses[0] != "fd00::a/64" {
		t.Errorf("the second one is %+v with %+v", second, ip)
	}
	if of := second.Member; of.Of != m.Owner.Key || of.Index != 1 || of.Count != 2 {
		t.Errorf("it is %+v", of)
	}
	if ip := m.Networks[0].StaticIP; ip.Address != "10.0.0.252/24" || ip.Addresses[0] != "fd00::9/64" {
		t.Errorf("the machine itself has %+v now", ip)
	}
	if _, errs := m.Replica(3, 4); len(errs) != 1 || errs[0].Field != "networks[0].staticIP.address" || !strings.Contains(errs[0].Error(), "fewer than 4 addresses") {
		t.Errorf("there is no room for four: %v", errs)
	}
	m.Deleted = true
	if gone, errs := m.Replica(3, 2); len(errs) > 0 || gone.Networks != nil {
		t.Errorf("one that goes needs no address: %v, %+v", errs, gone.Networks)
	}
}
