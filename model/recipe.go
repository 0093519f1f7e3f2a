package model

// Recipe is the input of first-boot data that depends on the VMID. It is plain data, so that
// equal recipes compare as equal. Package firstboot makes files of it: its Recipe has the
// same fields, so that both types can be converted.
type Recipe struct {
	Hostname   string
	InstanceID string // cloud-init runs again when it changes
	Rerun      bool   // the instance ID changes with the data
	MetaData   string // further keys, in YAML
	NICs       []GuestNIC

	UserData string   // for cloud-init and compatible software, unchanged
	Ignition string   // a config in JSON
	Butane   []string // configs, each on top of those before it
	Folder   string   // folder with Butane's local files; empty: see Files
	Files    map[string][]byte

	// Extra are further files of the drive by name, such as vendor-data. They replace generated
	// files of the same name.
	Extra map[string]string

	// Variables are replaced in the texts, and the VMID with them.
	Variables map[string]string
}

// GuestNIC is a network interface as the guest configures it. It is an alias of an unnamed
// type, so that it equals the one of package firstboot, which imports nothing either.
type GuestNIC = struct {
	MAC       string
	Addresses []string // CIDR; none: DHCP, unless it is manual
	Manual    bool     // no DHCP for IPv4
	DHCP4     bool     // DHCP for IPv4 beside addresses
	DHCP6     bool
	SLAAC     bool // SLAAC
	Gateway   string
	Gateway6  string
	DNS       []string
	Search    []string
	MTU       int
}
