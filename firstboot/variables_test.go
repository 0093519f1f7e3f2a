package firstboot

import (
	"strings"
	"testing"
)

// An Ignition config can have the addresses of its guest in it, those from pools, too: they are known when the
// files are made.
func TestTextsHaveTheAddressesOfInterfaces(t *testing.T) {
	r := Recipe{
		Hostname: "web", InstanceID: "i", Variables: map[string]string{},
		NICs: []NIC{
			{MAC: "AA:00:00:00:00:01", Addresses: []string{"2001:db8::5/64", "192.0.2.5/24", "192.0.2.6/24"}, Gateway: "192.0.2.1", DNS: []string{"192.0.2.1", "192.0.2.2"}},
			{MAC: "AA:00:00:00:00:02", Addresses: []string{"198.51.100.7/25"}},
		},
		Ignition: `{"ignition":{"version":"3.4.0"},"systemd":{"units":[{"name":"net.service","contents":"[Unit]\nDescription=${vm_mac};${vm_address};${vm_address6};${vm_gateway};${vm_dns};${vm_address_1}"}]}}`,
	}
	files, err := r.Make(100)
	const want = "aa:00:00:00:00:01;192.0.2.5/24;2001:db8::5/64;192.0.2.1;192.0.2.1 192.0.2.2;198.51.100.7/25"
	if err != nil || !strings.Contains(string(files[UserDataFile]), want) {
		t.Errorf("have %s, %v; want %s", files[UserDataFile], err, want)
	}
	if !r.UsesAddress(0) || !r.UsesAddress(1) || r.UsesAddress(2) {
		t.Error("it isn't known whose addresses the text has")
	}
	r.NICs[1].Addresses = nil // it has one by DHCP
	if _, err := r.Make(100); err == nil || !strings.Contains(err.Error(), "there is no variable vm_address_1; there are vm_address, vm_address6, vm_dns, vm_gateway, vm_id, vm_mac, vm_mac_1") {
		t.Errorf("an address that nobody knows: %v", err)
	}
}
