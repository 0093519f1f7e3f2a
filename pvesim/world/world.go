// Package world describes a simulated Proxmox cluster: its nodes, storages, users and guests at the start, how
// long things take and what goes wrong. It reads descriptions from YAML and fills in what they leave out;
// package pvesim checks them against what it knows of Proxmox and brings them to life.
package world

import (
	"fmt"
	"net/netip"
	"strings"
)

// World says what a simulator starts with and how it behaves.
type World struct {
	Release    string      `json:"release,omitempty"` // "9.2" (default) or "8.4"
	Cluster    string      `json:"cluster,omitempty"` // name; empty: one node without a cluster
	Entry      string      `json:"entry,omitempty"`   // the node that clients talk to; default: the first
	Nodes      []Node      `json:"nodes,omitempty"`
	Storages   []Storage   `json:"storages,omitempty"`
	Users      []User      `json:"users,omitempty"`
	Roles      []Role      `json:"roles,omitempty"`
	ACL        []ACL       `json:"acl,omitempty"`
	Pools      []Pool      `json:"pools,omitempty"`
	Guests     []Guest     `json:"guests,omitempty"`
	Containers []Container `json:"containers,omitempty"`
	Dirs       []string    `json:"dirs,omitempty"` // directories that exist on the hosts
	Systems    []Installed `json:"systems,omitempty"`
	// Kernels are booted by guests whose disks hold the system of that name:
	// with real machines, disks need no boot loader then.
	Kernels map[System]Kernel `json:"kernels,omitempty"`
	DHCP    DHCP              `json:"dhcp,omitempty"`
	Timing  Timing            `json:"timing,omitempty"`
	Locks   Locks             `json:"locks,omitempty"`
	Load    Load              `json:"load,omitempty"`
	Faults  []Fault           `json:"faults,omitempty"`
}

// Node is a host.
type Node struct {
	Name   string    `json:"name"`
	IP     string    `json:"ip,omitempty"`
	State  NodeState `json:"state,omitempty"`
	CPUs   int       `json:"cpus,omitempty"`
	Memory Size      `json:"memory,omitempty"`
	NUMA   int       `json:"numaNodes,omitempty"` // as many sockets; 0: one
	NICs   []string  `json:"nics,omitempty"`      // physical network cards
	// PCI are devices that VMs can get: vendor and device ("10de:2204") by where they are ("0000:01:00.0").
	PCI     map[string]string `json:"pci,omitempty"`
	Bonds   []Bond            `json:"bonds,omitempty"`
	Bridges []Bridge          `json:"bridges,omitempty"`
}

// Bond is a bond of network cards.
type Bond struct {
	Name   string   `json:"name"` // bond0
	Slaves []string `json:"slaves"`
	Mode   string   `json:"mode,omitempty"` // default: balance-rr
}

// Bridge is a bridge of a node.
type Bridge struct {
	Name  string   `json:"name"`
	CIDR  string   `json:"cidr,omitempty"`
	Ports []string `json:"ports,omitempty"` // network cards and bonds
}

// Storage is an entry of storage.cfg, with what is on it at the start.
type Storage struct {
	Name    string            `json:"name"`
	Type    string            `json:"type"`
	Path    string            `json:"path,omitempty"`
	Content []string          `json:"content,omitempty"`
	Shared  bool              `json:"shared,omitempty"`
	Nodes   []string          `json:"nodes,omitempty"`
	Size    Size              `json:"size,omitempty"`
	Used    Size              `json:"used,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	Volumes []Volume          `json:"volumes,omitempty"`
}

// Volume is a file on a storage: an ISO, an image, a snippet.
type Volume struct {
	Name   string   `json:"name"` // "iso/tiny.iso", "snippets/hook.sh"
	Size   Size     `json:"size,omitempty"`
	Text   string   `json:"text,omitempty"`   // its bytes, for small files
	File   string   `json:"file,omitempty"`   // file of this host with its bytes
	System System   `json:"system,omitempty"` // what an image holds; default: one with a guest agent
	Nodes  []string `json:"nodes,omitempty"`  // where it is; default: everywhere
	After  Duration `json:"after,omitempty"`  // it appears that long after the start
}

// User is a user with its tokens.
type User struct {
	ID       string   `json:"id"`
	Password string   `json:"password,omitempty"`
	Tokens   []Token  `json:"tokens,omitempty"`
	SSHKeys  []string `json:"sshKeys,omitempty"` // lines of authorized_keys, for users of the realm pam
}

// Token is an API token.
type Token struct {
	Name    string `json:"name"`
	Secret  string `json:"secret"`
	PrivSep bool   `json:"privsep,omitempty"`
}

// Role is a role made by people.
type Role struct {
	Name  string   `json:"name"`
	Privs []string `json:"privs"`
}

// ACL grants a role.
type ACL struct {
	Path      string `json:"path"`
	Role      string `json:"role"`
	User      string `json:"user,omitempty"`
	Token     string `json:"token,omitempty"`
	Propagate *bool  `json:"propagate,omitempty"` // default true
}

// Pool is a resource pool.
type Pool struct {
	ID      string `json:"id"`
	Comment string `json:"comment,omitempty"`
}

// Container is an LXC container that is there from the start.
type Container struct {
	ID      int               `json:"id"`
	Node    string            `json:"node"`
	Config  map[string]string `json:"config,omitempty"`
	Running bool              `json:"running,omitempty"`
}

// Guest is a VM that is there from the start.
type Guest struct {
	ID       int               `json:"id"`
	Node     string            `json:"node"`
	Config   map[string]string `json:"config,omitempty"` // disks as "storage:GiB" are allocated
	Template bool              `json:"template,omitempty"`
	Running  bool              `json:"running,omitempty"`
	Pool     string            `json:"pool,omitempty"`
	System   System            `json:"system,omitempty"` // what its disks hold; default: one with a guest agent
	// Count makes that many, with rising IDs; "%d" in the name is the number.
	Count int `json:"count,omitempty"`
}

// Installed puts an operating system onto the disks of a VM, whoever makes
// it: without this, disks that weren't copied from an image are blank.
type Installed struct {
	VMID   int    `json:"vmid"`
	System System `json:"system"`
}

// DHCP is where guests without a static address get theirs.
type DHCP struct {
	Range string `json:"range,omitempty"` // "192.168.77.50-192.168.77.250"
	Bits  int    `json:"bits,omitempty"`  // of the network
}

// Bounds returns the first and the last address of a range.
func (d DHCP) Bounds() (first, last netip.Addr, err error) {
	from, to, _ := strings.Cut(d.Range, "-")
	first, err1 := netip.ParseAddr(from)
	last, err2 := netip.ParseAddr(to)
	if err1 != nil || err2 != nil || last.Less(first) || d.Bits < 0 || d.Bits > 32 {
		return first, last, fmt.Errorf("range %q with %d bits isn't like 192.168.77.50-192.168.77.250 with 24", d.Range, d.Bits)
	}
	return first, last, nil
}

// NodeState says whether a node can be reached.
type NodeState string

const (
	// Online nodes answer.
	Online NodeState = "online"
	// Offline nodes are known to be down.
	Offline NodeState = "offline"
	// Unreachable nodes are members of the cluster, but no request gets through to
	// them. They seem to be online for as long as the cluster keeps their figures.
	Unreachable NodeState = "unreachable"
)
