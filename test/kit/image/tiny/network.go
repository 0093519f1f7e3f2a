//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// netConfig is cloud-init's network configuration, both versions.
type netConfig struct {
	Network *netConfig `json:"network"` // it may be wrapped
	Version int        `json:"version"`
	Config  []struct {
		Type    string `json:"type"`
		MAC     string `json:"mac_address"`
		Name    string `json:"name"`
		Subnets []struct {
			Type    string `json:"type"`
			Address string `json:"address"`
			Netmask string `json:"netmask"`
			Gateway string `json:"gateway"`
		} `json:"subnets"`
	} `json:"config"`
	Ethernets map[string]struct {
		Match struct {
			MAC string `json:"macaddress"`
		} `json:"match"`
		DHCP4     bool     `json:"dhcp4"`
		Addresses []string `json:"addresses"`
		Routes    []struct {
			To  string `json:"to"`
			Via string `json:"via"`
		} `json:"routes"`
	} `json:"ethernets"`
}

// wanted is what an interface is to have.
type wanted struct {
	dhcp      bool
	addresses []string
	gateways  []string
}

// configureNetwork brings all interfaces up, with DHCP unless the seed says
// otherwise.
func configureNetwork(text string) error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return err
	}
	plan, err := parseNetwork(text, interfaces)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, len(interfaces))
	for i, iface := range interfaces {
		wg.Go(func() { errs[i] = configureInterface(iface.Name, plan[iface.Name]) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func parseNetwork(text string, interfaces []net.Interface) (map[string]wanted, error) {
	var c netConfig
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		return nil, err
	}
	if c.Network != nil {
		c = *c.Network
	}
	name := func(mac, given string) string {
		for _, i := range interfaces {
			if mac != "" && strings.EqualFold(i.HardwareAddr.String(), mac) {
				return i.Name
			}
		}
		return given
	}
	plan := map[string]wanted{}
	if c.Version == 0 {
		for _, i := range interfaces {
			plan[i.Name] = wanted{dhcp: i.Flags&net.FlagLoopback == 0}
		}
	}
	for _, e := range c.Config {
		if e.Type != "physical" {
			continue
		}
		var w wanted
		for _, s := range e.Subnets {
			switch {
			case strings.HasPrefix(s.Type, "dhcp"):
				w.dhcp = true
			case strings.HasPrefix(s.Type, "static"):
				address := s.Address
				if !strings.Contains(address, "/") {
					bits, _ := net.IPMask(net.ParseIP(s.Netmask).To4()).Size()
					address = fmt.Sprintf("%s/%d", address, bits)
				}
				w.addresses, w.gateways = append(w.addresses, address), append(w.gateways, s.Gateway)
			}
		}
		plan[name(e.MAC, e.Name)] = w
	}
	for id, e := range c.Ethernets {
		w := wanted{dhcp: e.DHCP4, addresses: e.Addresses}
		for _, r := range e.Routes {
			w.gateways = append(w.gateways, r.Via)
		}
		plan[name(e.Match.MAC, id)] = w
	}
	return plan, nil
}

func configureInterface(name string, w wanted) error {
	// No waiting for whether somebody else has an IPv6 address.
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/accept_dad", []byte("0"), 0o600)
	errs := []error{run("ip", "link", "set", name, "up")}
	for _, a := range w.addresses {
		errs = append(errs, run("ip", "addr", "add", a, "dev", name))
	}
	for _, g := range w.gateways {
		if g != "" {
			errs = append(errs, run("ip", "route", "add", "default", "via", g, "dev", name))
		}
	}
	if w.dhcp {
		errs = append(errs, run("udhcpc", "-i", name, "-q", "-n", "-t", "300", "-T", "1", "-s", "/bin/udhcpc.script"))
	}
	return errors.Join(errs...)
}
