package operator_test

import (
	"strings"
	"testing"
)

// What can't be so of pools, firewalls and placements is told before anything is made, and ends when it is corrected.
func TestWrongPoolsFirewallsAndPlacesAreTold(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.operate("--alone")
	s.provide()
	network := func(more string) {
		s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p",
			`{"spec":{"nodes":{"pve1":{"labels":{"rack":"r1"}}},"networks":{"servers":{"bridge":"vmbr0","pool":`+more+`}}}}`)
	}
	const fine = `{"prefix":"192.168.77.0/24","gateway":"192.168.77.1","ranges":["192.168.77.100-192.168.77.120"],"exclude":[]}`
	s.apply(pooled("one"))
	for _, c := range []struct{ pool, want string }{
		{`{"prefix":"192.168.77.0/24","ranges":["192.168.78.100-192.168.78.120"]}`, `spec\.networks\.servers\.pool\.ranges\[0\]: 192\.168\.78\.100-192\.168\.78\.120 isn't inside of 192\.168\.77\.0/24`},
		{`{"prefix":"192.168.77.0/24","gateway":"192.168.77.101","ranges":["192.168.77.100-192.168.77.120"]}`, `pool\.gateway: 192\.168\.77\.101 is one of the addresses for machines; add it to exclude, or begin the range after it`},
		{`{"prefix":"192.168.77.0/24","gateway":"192.168.77.1","ranges":["192.168.77.100-192.168.77.120","192.168.77.110-192.168.77.130"]}`, `ranges\[1\]: .* has addresses in common with`},
	} {
		network(c.pool)
		s.waits("vm/one", c.want)
	}
	if got := s.machines(); got != "" {
		t.Errorf("%s was made with a pool that is wrong", got)
	}
	network(fine)
	s.waitFor("--for=condition=Ready", "vm/one")

	s.apply(machine("fixed", "networks: [{name: servers, staticIP: {address: 192.168.77.105/24}}]"))
	s.waits("vm/fixed", `192\.168\.77\.105 is in the pool of network servers: exclude it there, or take one of the pool with fromPool`)
	s.apply(machine("walled", "networks: [{name: servers}]", "firewall: {rules: [{securityGroup: nobodys}]}"))
	s.waits("vm/walled", `there is no security group nobodys: make it under Datacenter, Firewall, Security Group`)
	s.apply("apiVersion: infra.virtrigaud.io/v1beta1\nkind: VMPlacementPolicy\nmetadata: {name: racks}\nspec: {nodeLabels: [{key: rack, operator: In, values: [r7]}]}\n")
	s.apply(machine("placed", "placementRef: {name: racks}"))
	s.waits("vm/placed", `wants nodes whose rack is r7, and there are only r1; see spec\.nodes`)
	if out, err := s.try("apiVersion: infra.virtrigaud.io/v1beta1\nkind: VMPlacementPolicy\nmetadata: {name: tight}\nspec: {strategy: tight}\n", "apply", "-f", "-"); err == nil || !strings.Contains(out, `supported values: "spread", "pack"`) {
		t.Errorf("%v: %s", err, out)
	}
	if got := s.machines(); got != "one" {
		t.Errorf("there is %s", got)
	}

	// A machine that is there is left as it is while its Provider is wrong, and goes when it is to.
	network(`{"prefix":"192.168.77.0/24","gateway":"192.168.77.1","ranges":["192.168.78.100-192.168.78.120"],"exclude":[]}`)
	s.waits("vm/one", `Provider proxmox can't be used: spec\.networks\.servers\.pool\.ranges\[0\]: .* isn't inside of`)
	s.kubectl("delete", "vm", "one")
	if got := s.machines(); got != "" {
		t.Errorf("there still is %s", got)
	}
}
