package spec_test

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/spec"
)

// lan is a cluster with a pool that nothing is wrong with.
func lan() *spec.Cluster {
	return &spec.Cluster{Networks: spec.Networks{"lan": {Bridge: "vmbr0", Pool: &spec.Pool{
		Prefix: "192.168.1.0/24", Prefix6: "fd00:1::/64", Gateway: "192.168.1.1", Gateway6: "fe80::1", DNS: []string{"192.168.1.1"},
		Ranges: []string{"192.168.1.100-192.168.1.109", "fd00:1::100-fd00:1::1ff"}, Exclude: []string{"192.168.1.105"},
	}}}}
}

func TestPoolsAreChecked(t *testing.T) {
	for _, c := range []struct {
		reason string
		change func(*spec.Pool)
		want   string
	}{
		{"nothing is wrong", func(*spec.Pool) {}, ""},
		{"no ranges", func(p *spec.Pool) { p.Ranges = nil }, "networks.lan.pool.ranges: is missing: give the addresses for machines, such as 192.168.1.100-192.168.1.199"},
		{"a range outside of its prefix", func(p *spec.Pool) { p.Ranges[0] = "192.168.2.1-192.168.2.9" }, "networks.lan.pool.ranges[0]: 192.168.2.1-192.168.2.9 isn't inside of 192.168.1.0/24, the prefix of the pool: give addresses of that network, or correct the prefix"},
		{"a range without a prefix", func(p *spec.Pool) { p.Prefix6, p.Gateway6 = "", "" }, "networks.lan.pool.ranges[1]: fd00:1::100-fd00:1::1ff needs the network that it is in: set prefix6 of the pool"},
		{"a range that ends before it begins", func(p *spec.Pool) { p.Ranges[0] = "192.168.1.9-192.168.1.2" }, "networks.lan.pool.ranges[0]: ends before it begins; did you mean 192.168.1.2-192.168.1.9?"},
		{"a range of two families", func(p *spec.Pool) { p.Ranges[0] = "192.168.1.9-fd00:1::1" }, "networks.lan.pool.ranges[0]: 192.168.1.9 and fd00:1::1 are of different families"},
		{"no range at all", func(p *spec.Pool) { p.Ranges[0] = "many" }, `networks.lan.pool.ranges[0]: want a range such as 192.168.1.100-192.168.1.199, or one address, have "many"`},
		{"the address of the network", func(p *spec.Pool) { p.Ranges[0] = "192.168.1.0-192.168.1.9"; p.Gateway = "" }, "networks.lan.pool.ranges[0]: 192.168.1.0-192.168.1.9 has the first or the last address of 192.168.1.0/24, which no machine can have; leave them out"},
		{"ranges that overlap", func(p *spec.Pool) { p.Ranges = append(p.Ranges, "192.168.1.109-192.168.1.120") }, "networks.lan.pool.ranges[2]: 192.168.1.109-192.168.1.120 has addresses in common with 192.168.1.100-192.168.1.109 of networks.lan.pool.ranges[0]; each address belongs into one range of one pool"},
		{"a gateway for machines", func(p *spec.Pool) { p.Gateway = "192.168.1.101" }, "networks.lan.pool.gateway: 192.168.1.101 is one of the addresses for machines; add it to exclude, or begin the range after it"},
		{"a gateway that is excluded", func(p *spec.Pool) { p.Gateway = "192.168.1.105" }, ""},
		{"a gateway elsewhere", func(p *spec.Pool) { p.Gateway = "10.0.0.1" }, "networks.lan.pool.gateway: 10.0.0.1 isn't inside of 192.168.1.0/24, the network of the pool: give an address of that network, or correct the prefix"},
		{"an address for a network", func(p *spec.Pool) { p.Prefix = "192.168.1.1/24" }, "networks.lan.pool.prefix: 192.168.1.1/24 is an address in a network; did you mean 192.168.1.0/24?"},
		{"an exclusion outside of the ranges", func(p *spec.Pool) { p.Exclude = []string{"192.168.1.50"} }, "networks.lan.pool.exclude[0]: 192.168.1.50 is in no range of the pool, so that no machine gets it anyway; leave it out, or correct it"},
		{"a whole /64", func(p *spec.Pool) { p.Ranges[1] = "fd00:1::-fd00:1::ffff:ffff:ffff:ffff" }, ""},
		{"the address of all routers of an IPv6 network", func(p *spec.Pool) { p.Ranges[1] = "fd00:1::" }, "networks.lan.pool.ranges[1]: fd00:1:: is the first address of fd00:1::/64, which belongs to its routers; give another one"},
		{"both addresses of a link between two", func(p *spec.Pool) {
			p.Ranges[0], p.Prefix, p.Gateway, p.Exclude = "192.168.1.0-192.168.1.1", "192.168.1.0/31", "", nil
		}, ""},
		{"both addresses of an IPv6 link between two", func(p *spec.Pool) { p.Ranges[1], p.Prefix6, p.Gateway6 = "fd00:1::-fd00:1::1", "fd00:1::/127", "" }, ""},
		{"a network without a range", func(p *spec.Pool) { p.Ranges, p.Exclude = p.Ranges[:1], nil }, "networks.lan.pool.prefix6: no range is in fd00:1::/64, so that no machine gets an address of it; add one to ranges, or leave the network out"},
		{"the network of the machine itself", func(p *spec.Pool) { p.Ranges[0], p.Prefix, p.Gateway, p.Exclude = "127.0.0.5", "127.0.0.0/8", "", nil }, "networks.lan.pool.prefix: machines can't have addresses of 127.0.0.0/8, a network for other purposes; give another one"},
		{"a network of groups", func(p *spec.Pool) { p.Ranges[0], p.Prefix, p.Gateway, p.Exclude = "224.0.0.5", "224.0.0.0/24", "", nil }, "networks.lan.pool.prefix: machines can't have addresses of 224.0.0.0/24, a network for other purposes; give another one"},
		{"the network of a link", func(p *spec.Pool) { p.Ranges[1], p.Prefix6, p.Gateway6 = "fe80::5", "fe80::/64", "" }, "networks.lan.pool.prefix6: machines can't have addresses of fe80::/64, a network for other purposes; give another one"},
		{"a gateway that nothing can be", func(p *spec.Pool) { p.Gateway = "192.168.1.255" }, "networks.lan.pool.gateway: 192.168.1.255 is the first or the last address of 192.168.1.0/24, which no router can have"},
		{"all is excluded", func(p *spec.Pool) { p.Ranges = p.Ranges[:1]; p.Exclude = p.Ranges }, "networks.lan.pool.exclude: leaves no address of the pool"},
	} {
		cluster := lan()
		c.change(cluster.Networks["lan"].Pool)
		got := ""
		if errs := cluster.Check(); len(errs) > 0 {
			got = errs[0].Error()
		}
		if !strings.HasSuffix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s:\n%s\nwant\n%s", c.reason, got, c.want)
		}
	}
}

func TestPoolsOfOneClusterHaveNoAddressInCommon(t *testing.T) {
	c := lan()
	c.Networks["dmz"] = spec.ClusterNetwork{Bridge: "vmbr1", Pool: &spec.Pool{Prefix: "192.168.0.0/16", Ranges: []string{"192.168.1.108"}}}
	if errs := c.Check(); len(errs) != 1 || !strings.Contains(errs[0].Error(), "networks.lan.pool.ranges[0]: 192.168.1.100-192.168.1.109 has addresses in common with 192.168.1.108 of networks.dmz.pool.ranges[0]") {
		t.Errorf("%v", errs)
	}
}

func TestAMachineGetsItsAddressFromAPool(t *testing.T) {
	m := small("terraform", "web")
	m.Networks[0].StaticIP = &spec.StaticIP{FromPool: "lan"}
	vm, _, err := spec.VM(lan(), m)
	if err != nil || len(vm.Leases) != 1 || vm.Leases[0].Slot != "net0" || vm.Options["nameserver"] != "192.168.1.1" {
		t.Fatalf("%v %+v", err, vm)
	}
	if p := vm.Leases[0].Pool; p.Size("IPv4") != 9 || p.Size("IPv6") != 256 {
		t.Errorf("%+v", p)
	}
	if _, said := vm.Options["ipconfig0"]; said {
		t.Errorf("nobody knows its address yet: %v", vm.Options)
	}
}

func TestWhatDoesNotGoWithAPoolIsSaid(t *testing.T) {
	for _, c := range []struct {
		reason string
		ip     spec.StaticIP
		want   string
	}{
		{"a pool that isn't there", spec.StaticIP{FromPool: "dmz"}, `networks[0].staticIP.fromPool: network "dmz" has no pool (those with one: lan); give it one in networks of the cluster`},
		{"two ways", spec.StaticIP{FromPool: "lan", Address: "192.168.1.7/24"}, "networks[0].staticIP.fromPool: is instead of addresses and gateways, which come from the pool; leave one of them out"},
		{"an address of the pool", spec.StaticIP{Address: "192.168.1.107/24"}, "networks[0].staticIP: 192.168.1.107 is in the pool of network lan: exclude it there, or take one of the pool with fromPool"},
	} {
		m := small("terraform", "web")
		m.Networks[0].StaticIP = &c.ip
		if _, _, err := spec.VM(lan(), m); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.reason, err, c.want)
		}
	}
	m := small("terraform", "web")
	m.Networks[0].StaticIP = &spec.StaticIP{FromPool: "lan"}
	m.FirstBoot.UserData = &spec.UserData{Ignition: &spec.Text{Content: `{"ignition":{"version":"3.4.0"}}`}}
	if _, _, err := spec.VM(lan(), m); err == nil || !strings.Contains(err.Error(), "Ignition configs set no addresses by themselves") {
		t.Errorf("Ignition: %v", err)
	}
}
