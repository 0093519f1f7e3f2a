package firstboot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Input is what a NoCloud drive is made from.
type Input struct {
	UserData   string            // a cloud-config, a script, MIME multipart: as given
	Hostname   string            // the guest's name
	InstanceID string            // cloud-init runs again when it changes; empty: the hostname
	MetaData   map[string]string // further keys
	NICs       []NIC
}

// NIC is a network interface as the guest is to configure it.
type NIC struct {
	MAC       string
	Addresses []string // CIDR; none: DHCP, unless it is manual
	Manual    bool     // no DHCP for IPv4
	DHCP4     bool     // DHCP for IPv4 beside addresses
	DHCP6     bool
	SLAAC     bool // take the IPv6 address that a router announces
	Gateway   string
	Gateway6  string
	DNS       []string
	Search    []string
	MTU       int
}

// maxUserData keeps user-data within what an image and a request can carry.
const maxUserData = 1 << 20

// NoCloud makes the files of a drive.
func NoCloud(in Input) (map[string][]byte, error) {
	if len(in.UserData) > maxUserData {
		return nil, fmt.Errorf("user-data has %d bytes, more than %d", len(in.UserData), maxUserData)
	}
	if err := checkUserData(in.UserData); err != nil {
		return nil, err
	}
	meta := map[string]string{}
	maps.Copy(meta, in.MetaData)
	meta["instance-id"] = in.InstanceID
	if in.InstanceID == "" {
		meta["instance-id"] = in.Hostname
	}
	if in.Hostname != "" {
		meta["local-hostname"] = in.Hostname
	}
	metaData, err := yaml.Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("meta-data: %w", err)
	}
	files := map[string][]byte{"user-data": []byte(in.UserData), "meta-data": metaData}
	if len(in.NICs) > 0 {
		if files["network-config"], err = networkConfig(in.NICs); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// checkUserData refuses a cloud-config that isn't YAML; what else user-data can
// be is left to the guest.
func checkUserData(text string) error {
	first, _, _ := strings.Cut(strings.TrimLeft(text, "\ufeff\n\r\t "), "\n")
	if strings.TrimSpace(first) != "#cloud-config" {
		return nil
	}
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return fmt.Errorf("user-data is no valid cloud-config: %w", err)
	}
	if _, ok := v.(map[string]any); v != nil && !ok {
		return fmt.Errorf("user-data is no valid cloud-config: it isn't a mapping")
	}
	return nil
}

// Digest changes when any of the files does.
func Digest(files map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s\x00%d\x00", name, len(files[name]))
		h.Write(files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// networkConfig is version 2 of cloud-init's network configuration: interfaces
// are found by their MAC, since their names depend on the machine type.
func networkConfig(nics []NIC) ([]byte, error) {
	type route struct {
		To  string `yaml:"to"`
		Via string `yaml:"via"`
	}
	type names struct {
		Addresses []string `yaml:"addresses,omitempty"`
		Search    []string `yaml:"search,omitempty"`
	}
	type ethernet struct {
		Match       map[string]string `yaml:"match"`
		DHCP4       bool              `yaml:"dhcp4,omitempty"`
		DHCP6       bool              `yaml:"dhcp6,omitempty"`
		AcceptRA    bool              `yaml:"accept-ra,omitempty"`
		Addresses   []string          `yaml:"addresses,omitempty"`
		Routes      []route           `yaml:"routes,omitempty"`
		Nameservers *names            `yaml:"nameservers,omitempty"`
		MTU         int               `yaml:"mtu,omitempty"`
	}
	out := struct {
		Version   int                 `yaml:"version"`
		Ethernets map[string]ethernet `yaml:"ethernets"`
	}{2, map[string]ethernet{}}
	for i, n := range nics {
		e := ethernet{Match: map[string]string{"macaddress": strings.ToLower(n.MAC)}, DHCP4: n.DHCP4 || len(n.Addresses) == 0 && !n.Manual, DHCP6: n.DHCP6, AcceptRA: n.SLAAC, MTU: n.MTU}
		for _, a := range n.Addresses {
			if _, err := netip.ParsePrefix(a); err != nil {
				return nil, fmt.Errorf("address %q of interface %d: want one like 192.168.1.5/24", a, i)
			}
			e.Addresses = append(e.Addresses, a)
		}
		if n.Gateway != "" {
			e.Routes = append(e.Routes, route{"0.0.0.0/0", n.Gateway})
		}
		if n.Gateway6 != "" {
			e.Routes = append(e.Routes, route{"::/0", n.Gateway6})
		}
		if len(n.DNS)+len(n.Search) > 0 {
			e.Nameservers = &names{n.DNS, n.Search}
		}
		out.Ethernets[fmt.Sprintf("id%d", i)] = e
	}
	return yaml.Marshal(out)
}
