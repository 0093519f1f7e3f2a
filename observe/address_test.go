package observe

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// guestInterface is what an agent tells of one.
func guestInterface(t *testing.T, name, mac string, addresses ...string) pve.GuestInterface {
	t.Helper()
	type address struct {
		IP   string `json:"ip-address"`
		Bits int    `json:"prefix"`
	}
	var list []address
	for _, a := range addresses {
		list = append(list, address{a, 24})
	}
	text, err := json.Marshal(map[string]any{"name": name, "hardware-address": mac, "ip-addresses": list})
	if err != nil {
		t.Fatal(err)
	}
	var out pve.GuestInterface
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOnlyAddressesThatLeadToTheGuestAreTold(t *testing.T) {
	nic := []model.NIC{{Slot: "net0", MAC: "BC:24:11:00:00:01"}, {Slot: "net1", MAC: "BC:24:11:00:00:02"}}
	i := func(name, mac string, addresses ...string) pve.GuestInterface {
		return guestInterface(t, name, mac, addresses...)
	}
	const own, second, other = "bc:24:11:00:00:01", "bc:24:11:00:00:02", "02:42:ac:11:00:02"
	for _, c := range []struct {
		list   []pve.GuestInterface
		nics   []model.NIC
		want   string
		reason string
	}{
		{[]pve.GuestInterface{i("lo", "00:00:00:00:00:00", "127.0.0.1", "::1"), i("eth0", own, "fe80::1", "fd00::5", "10.0.0.5")}, nic, "[10.0.0.5/24 fd00::5/24]", "no loopback, no link-local, IPv4 first"},
		{[]pve.GuestInterface{i("docker0", other, "172.17.0.1"), i("eth0", own, "10.0.0.5"), i("vethab12", other, "10.9.9.9")}, nic, "[10.0.0.5/24]", "no container bridges"},
		{[]pve.GuestInterface{i("mybridge", other, "10.88.0.1"), i("eth0", own, "10.0.0.5")}, nic, "[10.0.0.5/24]", "a bridge of any name with a MAC of its own"},
		{[]pve.GuestInterface{i("eth1", second, "10.1.0.5"), i("eth0", own, "10.0.0.5")}, nic, "[10.0.0.5/24 10.1.0.5/24]", "in the order of the network cards"},
		{[]pve.GuestInterface{i("cni0", own, "10.244.0.1"), i("br0", own, "10.0.0.5")}, nic, "[10.0.0.5/24]", "a bridge on the card, and one of a container network with its MAC"},
		{[]pve.GuestInterface{i("Ethernet", other, "10.0.0.5%7")}, nic, "[10.0.0.5/24]", "names decide when no MAC is known"},
		{[]pve.GuestInterface{i("eth0", own, "169.254.3.4", "224.0.0.1", "0.0.0.0")}, nic, "[]", "nothing that leads there"},
		{[]pve.GuestInterface{i("lom1", other, "10.0.0.5")}, nil, "[10.0.0.5/24]", "isn't lo"},
		{[]pve.GuestInterface{i("eth0", own, "10.0.0.5", "10.0.0.5")}, nic, "[10.0.0.5/24]", "each once"},
	} {
		if got := fmt.Sprint(addressesOf(c.list, c.nics)); got != c.want {
			t.Errorf("%s: %s, want %s", c.reason, got, c.want)
		}
	}
}
