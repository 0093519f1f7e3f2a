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

// What is computed from a variable is computed once that is known.
func TestWhatIsComputedFromVariables(t *testing.T) {
	host, err := Host("${vm_address_1}")
	if err != nil {
		t.Fatal(err)
	}
	router, err := Host("${vm_address_1}", 1)
	if err != nil {
		t.Fatal(err)
	}
	text := Base64("id "+Base64("${vm_id}")) + " " + host + " " + router + " " + Base64("none")
	r := Recipe{
		Hostname: "web", InstanceID: "i", Variables: map[string]string{}, UserData: "#cloud-config\nhostname: " + text,
		NICs: []NIC{{MAC: "AA:00:00:00:00:01"}, {MAC: "AA:00:00:00:00:02", Addresses: []string{"198.51.100.7/25"}}},
	}
	if !r.PerGuest() || !r.UsesAddress(1) || r.UsesAddress(0) {
		t.Error("it isn't known which variables the text has")
	}
	files, err := r.Make(100)
	const want = "#cloud-config\nhostname: aWQgTVRBdw== 198.51.100.7 198.51.100.1 bm9uZQ=="
	if err != nil || string(files[UserDataFile]) != want {
		t.Errorf("have %s, %v; want %s", files[UserDataFile], err, want)
	}
	for _, bad := range []string{"${vm_base64:%}", "${vm_host:vm_address}", "${vm_host:vm_address_1,x}", "${vm_host:vm_address_1,200}"} {
		r.UserData = "#cloud-config\nhostname: " + bad
		if _, err := r.Make(100); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	for _, wrong := range []struct {
		prefix string
		n      int
	}{{"10.0.0.0/24", 256}, {"10.0.0.0/24", -1}, {"2001:db8::/64", 1 << 40}, {"nonsense", 1}} {
		if got, err := Host(wrong.prefix, wrong.n); err == nil {
			t.Errorf("%v is %s", wrong, got)
		}
	}
}
