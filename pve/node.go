package pve

import (
	"context"
)

// Node is a handle for one node.
type Node struct {
	c    *Client
	Name string
}

// Node gives a handle for a node.
func (c *Client) Node(name string) Node { return Node{c, name} }

// Usage is how much of something is in use, in bytes.
type Usage struct {
	Total int64 `json:"total"`
	Used  int64 `json:"used"`
	Free  int64 `json:"free"`
	Avail int64 `json:"avail"`
}

// NodeStatus is the state of a node.
type NodeStatus struct {
	CPU     float64 `json:"cpu"`
	Uptime  int64   `json:"uptime"`
	Memory  Usage   `json:"memory"`
	Swap    Usage   `json:"swap"`
	Root    Usage   `json:"rootfs"`
	Version string  `json:"pveversion"`
	CPUInfo struct {
		CPUs    int    `json:"cpus"`
		Cores   int    `json:"cores"`
		Sockets int    `json:"sockets"`
		Model   string `json:"model"`
		Flags   string `json:"flags"`
	} `json:"cpuinfo"`
	Load   []float64 `json:"loadavg"`
	Kernel struct {
		Release string `json:"release"`
		Machine string `json:"machine"`
	} `json:"current-kernel"`
}

// Status reads the state of the node. It needs Sys.Audit on it.
func (n Node) Status(ctx context.Context) (NodeStatus, error) {
	return get[NodeStatus](ctx, n.c, nil, "/nodes/{node}/status", n.Name)
}

// Certificate is a certificate that a node has.
type Certificate struct {
	File        string `json:"filename"` // pve-root-ca.pem is that of the cluster
	Fingerprint string `json:"fingerprint"`
}

// Certificates lists the certificates of the node and the authority of its cluster. It
// needs no privilege.
func (n Node) Certificates(ctx context.Context) ([]Certificate, error) {
	return get[[]Certificate](ctx, n.c, nil, "/nodes/{node}/certificates/info", n.Name)
}

// Interface is a network interface of a node.
type Interface struct {
	Name        string   `json:"iface"`
	Type        string   `json:"type"` // bridge, bond, eth, vlan, OVSBridge …
	Active      bool     `json:"active"`
	Autostart   bool     `json:"autostart"`
	Exists      bool     `json:"exists"`
	Method      string   `json:"method"`
	Method6     string   `json:"method6"`
	CIDR        string   `json:"cidr"`
	CIDR6       string   `json:"cidr6"`
	Address     string   `json:"address"`
	Gateway     string   `json:"gateway"`
	Gateway6    string   `json:"gateway6"`
	MTU         int      `json:"mtu"`
	BridgePorts []string `json:"bridge_ports"`
	VLANAware   bool     `json:"bridge_vlan_aware"`
	BridgeVIDs  string   `json:"bridge_vids"`
	VLANID      int      `json:"vlan-id"`
	VLANDevice  string   `json:"vlan-raw-device"`
	Comments    string   `json:"comments"`
}

type networkParams struct {
	Type string `pve:"type"`
}

// Network lists the node's interfaces of a type; "any_bridge" means bridges of all types that a
// VM can use, an empty one all interfaces.
func (n Node) Network(ctx context.Context, kind string) ([]Interface, error) {
	return get[[]Interface](ctx, n.c, networkParams{kind}, "/nodes/{node}/network", n.Name)
}
