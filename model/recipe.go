package model

// Recipe is what first-boot data are made from that depend on the VMID. It is plain data,
// so that equal ones are equal; package firstboot makes files of it: its Recipe has the same
// fields, so that each converts to the other.
type Recipe struct {
	Hostname   string
	InstanceID string // cloud-init runs again when it changes
	Rerun      bool   // let it change whenever the data do
	MetaData   string // further keys, in YAML
	NICs       []GuestNIC

	UserData string   // for cloud-init and what reads the same, as it was given
	Ignition string   // a config in JSON
	Butane   []string // configs, each on top of those before it
	Folder   string   // that Butane's local files are in; empty: see Files
	Files    map[string][]byte

	// Extra are files of the drive by name, such as vendor-data: beside those that are made from the
	// rest, or in place of them.
	Extra map[string]string

	// Variables are replaced in the texts, and the VMID with them.
	Variables map[string]string
}

// GuestNIC is a network interface as the guest is to configure it. The type has no name of
// its own, so that it is that of package firstboot, which imports nothing either.
type GuestNIC = struct {
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
