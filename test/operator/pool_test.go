package operator_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// pooled is a machine with an address from a pool.
func pooled(name string) string {
	return machine(name, "networks: [{name: servers, staticIP: {fromPool: servers}}]")
}

func TestMachinesGetAddressesFromAPool(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.operate("--alone")
	s.provide()
	s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p",
		`{"spec":{"networks":{"servers":{"bridge":"vmbr0","pool":{"prefix":"192.168.77.0/24","gateway":"192.168.77.1","ranges":["192.168.77.100"]}}}}}`)
	s.apply(pooled("one"))
	s.waitFor("--for=condition=Ready", "vm/one")
	if got := s.conf("one", "ipconfig0"); !strings.Contains(got, "ip=192.168.77.100/24") {
		t.Errorf("it has %s", got)
	}
	if got := s.field("vm/one", ".status.addresses[0]"); got != "192.168.77.100" {
		t.Errorf("its address is %s", got)
	}
	if got := s.field("vm/one", ".status.leasedAddresses[0]"); got != "192.168.77.100" {
		t.Errorf("the address that it has from the pool is %s", got)
	}

	// The last address is taken: the next machine waits, until it is given back.
	s.apply(pooled("two"))
	s.waits("vm/two", `pool servers has no free IPv4 address: all 1 are taken \(192.168.77.100 by VM \d+ \(one\)\)`)
	if got := s.field("vm/two", `.status.conditions[?(@.type=="Ready")].reason`); got != "NoAddress" {
		t.Errorf("the reason is %s", got)
	}
	s.kubectl("delete", "vm", "one", "--timeout", patience.String())
	s.waitFor("--for=condition=Ready", "vm/two")
	if got := s.conf("two", "ipconfig0"); !strings.Contains(got, "ip=192.168.77.100/24") {
		t.Errorf("it has %s", got)
	}
}

// Somebody who asks for fewer machines, since there are too few addresses, gets no more of them when one comes free.
func TestAMachineThatCouldNotBeMadeIsNotMadeOnceFewerAreWanted(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.operate("--alone")
	s.provide()
	s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p",
		`{"spec":{"networks":{"servers":{"bridge":"vmbr0","pool":{"prefix":"192.168.77.0/24","ranges":["192.168.77.100-192.168.77.102"]}}}}}`)
	s.apply(pooled("other"))
	s.waitFor("--for=condition=Ready", "vm/other")
	s.apply(machine("web", "count: 3", "networks: [{name: servers, staticIP: {fromPool: servers}}]"))
	s.waits("vm/web", `web-3: pool servers has no free IPv4 address`)
	s.kubectl("scale", "vm/web", "--replicas=2")
	s.waitFor("--for=jsonpath={.status.count}=2", "vm/web")
	s.waitFor("--for=condition=Ready", "vm/web")
	s.kubectl("delete", "vm", "other", "--timeout", patience.String())
	s.apply(pooled("next"))
	s.waitFor("--for=condition=Ready", "vm/next")
	if strings.Contains(s.machines(), "web-3") || s.field("vm/web", ".status.members[*].name") != "web-1 web-2" {
		t.Errorf("there is %s, and its status is %s", s.machines(), s.field("vm/web", ".status"))
	}
}

// A machine that is made anew gets the address that it had, also if the operator was ended in between.
func TestAMachineThatIsMadeAnewGetsTheAddressThatItHad(t *testing.T) {
	t.Parallel()
	s := begin(t)
	o := s.operate("--alone")
	s.provide()
	s.apply(machine("one", `networks: [{name: servers, bridge: vmbr0, staticIP: {address: 192.168.77.107/24}}]`))
	s.waitFor("--for=condition=Ready", "vm/one")
	s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p",
		`{"spec":{"networks":{"servers":{"bridge":"vmbr0","pool":{"prefix":"192.168.77.0/24","ranges":["192.168.77.100-192.168.77.120"]}}}}}`)
	s.apply(pooled("one"))
	s.until("the machine has its address from the pool", func() bool { return s.field("vm/one", ".status.leasedAddresses[0]") == "192.168.77.107" })
	o.Stop()
	s.vm("one", func(st *pvesim.State, vm *pvesim.VM) { delete(st.VMs, vm.ID) })
	s.operate("--alone")
	s.until("it is made anew", func() bool { return strings.Contains(s.machines(), "one") })
	s.waitFor("--for=condition=Ready", "vm/one")
	if got := s.conf("one", "ipconfig0"); !strings.Contains(got, "ip=192.168.77.107/24") {
		t.Errorf("it has %s", got)
	}
}

// The operator and somebody's apply know nothing of each other, and take addresses from one pool that has just enough for both.
func TestAnOperatorAndAnApplyChooseFromOnePoolAtOnce(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.operate("--alone")
	s.provide()
	const pool = `{bridge: vmbr0, pool: {prefix: 192.168.77.0/24, gateway: 192.168.77.1, ranges: [192.168.77.100-192.168.77.105]}}`
	folder := t.TempDir()
	manifests := fmt.Sprintf("apiVersion: infra.virtrigaud.io/v1beta1\nkind: Provider\nmetadata: {name: proxmox}\nspec: {networks: {servers: %s}}\n", pool) +
		strings.Replace(pooled("hand"), "spec:\n  classRef", "spec:\n  count: 3\n  classRef", 1)
	if err := os.WriteFile(filepath.Join(folder, "machines.yaml"), []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	patch, err := yaml.YAMLToJSON([]byte("spec: {networks: {servers: " + pool + "}}"))
	if err != nil {
		t.Fatal(err)
	}
	s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p", string(patch))
	s.apply(strings.Replace(pooled("kube"), "spec:\n  classRef", "spec:\n  count: 3\n  classRef", 1))
	s.applyByHand(s.pve, folder)
	s.waitFor("--for=condition=Ready", "vm/kube")
	users := map[netip.Addr]string{}
	s.pve.Do(func(st *pvesim.State) {
		for _, vm := range st.VMs {
			for _, a := range model.ConfiguredAddresses(vm.Conf) {
				if other := users[a]; other != "" {
					t.Errorf("%s and %s have %s", other, vm.Name(), a)
				}
				users[a] = vm.Name()
			}
		}
	})
	if len(users) != 6 {
		t.Errorf("the addresses are %v", users)
	}
}
