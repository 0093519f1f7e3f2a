package pvesim

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pvesim/access"
	"github.com/proxplane/proxplane/pvesim/guestos"
)

// State is all that the simulator knows, as it is kept on disk. Read or
// change it from outside only within [Sim.Do].
type State struct {
	Cluster    string              `json:"cluster,omitempty"` // empty: a single node without a cluster
	Version    int                 `json:"version"`           // of the cluster's config
	Nodes      map[string]*Node    `json:"nodes"`
	Storages   map[string]*Storage `json:"storages"`
	Spaces     map[SpaceKey]*Space `json:"spaces"`
	VMs        map[int]*VM         `json:"vms"`
	Strays     map[int]*VM         `json:"strays,omitempty"` // that run without a config
	Containers map[int]*Container  `json:"containers,omitempty"`
	Pools      map[string]*Pool    `json:"pools"`
	Access     access.Config       `json:"access"`
	members    *memberIndex        // which pools guests and storages are in, derived
	DirMaps    map[string]*DirMap  `json:"dirMaps"`

	HardwareMaps map[string]map[string]*HardwareMap `json:"hardwareMaps"` // by kind: pci, usb
	HA           HA                                 `json:"ha"`
	Firewall     Firewall                           `json:"firewall"`
	Metrics      map[string]map[string]string       `json:"metrics"`      // status.cfg
	MetricTokens map[string]string                  `json:"metricTokens"` // kept apart from it
	BackupJobs   map[string]*BackupJob              `json:"backupJobs"`   // jobs.cfg
	Options      map[string]string                  `json:"options"`      // datacenter.cfg
	DHCP         DHCP                               `json:"dhcp"`
	Dirs         map[string]bool                    `json:"dirs"` // directories that exist on the hosts
	Serial       map[string]uint64                  `json:"serial"`
	Tasks        map[string][]*TaskInfo             `json:"tasks"` // by node, oldest first

	Kubes map[string]*guestos.Kube `json:"kubes,omitempty"` // Kubernetes clusters that guests form, by their tokens
}

// Node is a host.
type Node struct {
	Name    string            `json:"name"`
	ID      int               `json:"id"`
	IP      string            `json:"ip"`
	State   NodeState         `json:"state"`
	CPUs    int               `json:"cpus"`
	Memory  int64             `json:"memory"`
	NUMA    int               `json:"numaNodes,omitempty"` // as many sockets; 0: one
	Used    int64             `json:"used"`                // memory that the host itself uses
	Root    int64             `json:"root"`                // size of the root file system
	NICs    []string          `json:"nics,omitempty"`      // physical network cards
	PCI     map[string]string `json:"pci,omitempty"`       // devices: vendor and device by where they are
	Bridges []*Bridge         `json:"bridges"`
	// NewBridges is the config that waits to be applied; nil: none.
	NewBridges []*Bridge         `json:"newBridges,omitempty"`
	Booted     time.Time         `json:"booted"`
	Conf       map[string]string `json:"conf"`
}

// Bridge is a network interface of a node: a bridge, a bond, a network card.
type Bridge struct {
	Name string            `json:"name"`
	Type string            `json:"type"`
	Opts map[string]string `json:"opts,omitempty"`
}

// Conf is one section of a guest's config file: option → value as stored.
type Conf map[string]string

func (c Conf) clone() Conf { return maps.Clone(c) }

// keys returns the options in the order of their names.
func (c Conf) keys() []string { return slices.Sorted(maps.Keys(c)) }

// VM is a QEMU guest.
type VM struct {
	ID    int              `json:"id"`
	Node  string           `json:"node"`
	Conf  Conf             `json:"conf"`
	Snaps map[string]*Snap `json:"snaps,omitempty"`
	// Pending holds what waits for the next start, Deletes the options that
	// go away then (true: their volumes too).
	Pending Conf            `json:"pending,omitempty"`
	Deletes map[string]bool `json:"deletes,omitempty"`
	// CloudInit says how the config differs from what the cloud-init drive
	// was made of: the old values, and under "added" the new options.
	CloudInit Conf `json:"cloudInit,omitempty"`
	Run       *Run `json:"run,omitempty"` // nil: stopped
	// Saved is what the memory of the guest held, by the volume that it was
	// saved to (snapshots with RAM, suspension to disk).
	Saved map[string]*Run `json:"saved,omitempty"`
	// Devices are the PCI devices of its node that it has while it runs.
	Devices []string `json:"devices,omitempty"`

	digest string // of the config, computed when first asked for
	index  *guestIndex
	share  guestShare // what the index has of it
}

// Snap is a snapshot: the config at that time, with the options that
// describe it (snaptime, parent, description, vmstate …).
type Snap struct {
	Conf Conf `json:"conf"`
}

// touch must be called after every change of the config.
func (v *VM) touch() {
	v.digest = ""
	v.recount()
}

// Digest returns the checksum of the config file.
func (v *VM) Digest() string {
	if v.digest == "" || v.index == nil || v.index.stale {
		sum := sha1.Sum([]byte(v.file()))
		v.digest = hex.EncodeToString(sum[:])
	}
	return v.digest
}

// file renders the config; equal configs give equal files.
func (v *VM) file() string {
	var b strings.Builder
	section := func(name string, c Conf) {
		if name != "" {
			b.WriteString("[" + name + "]\n")
		}
		for _, k := range c.keys() {
			b.WriteString(k + ": " + c[k] + "\n")
		}
	}
	section("", v.Conf)
	if len(v.Pending) > 0 || len(v.Deletes) > 0 {
		section("PENDING", v.Pending)
		for _, k := range slices.Sorted(maps.Keys(v.Deletes)) {
			fmt.Fprintf(&b, "delete: %s %t\n", k, v.Deletes[k])
		}
	}
	if len(v.CloudInit) > 0 {
		section("special:cloudinit", v.CloudInit)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Snaps)) {
		section(name, v.Snaps[name].Conf)
	}
	return b.String()
}

// Name returns the name that lists show.
func (v *VM) Name() string { return v.Conf["name"] }

// Pool groups guests and storages for permissions.
type Pool struct {
	ID       string          `json:"id"`
	Comment  string          `json:"comment,omitempty"`
	HasNote  bool            `json:"hasNote,omitempty"`
	VMs      map[int]bool    `json:"vms,omitempty"`
	Storages map[string]bool `json:"storages,omitempty"`
}

// HardwareMap is a name for a PCI or USB device on each node.
type HardwareMap struct {
	Map     []string          `json:"map"` // "node=pve1,path=0000:01:00.0,id=10de:2204"
	Options map[string]string `json:"options,omitempty"`
}

// DirMap is a directory mapping: a name for a directory on each node.
type DirMap struct {
	ID   string   `json:"id"`
	Desc string   `json:"desc,omitempty"`
	Map  []string `json:"map"`
}

// HA is what the high-availability manager was told.
type HA struct {
	Resources map[string]map[string]string `json:"resources"` // by "vm:100"
	Groups    map[string]map[string]string `json:"groups"`    // until 8
	Rules     map[string]map[string]string `json:"rules"`     // from 9
	// Awake is set once the manager has had something to do.
	Awake bool `json:"awake,omitempty"`
	// Failed are the resources that the manager has given up: their state is error.
	Failed map[string]bool `json:"failed,omitempty"`
	// Maintenance are the nodes that the manager keeps resources away from.
	Maintenance map[string]bool `json:"maintenance,omitempty"`
	// Fallback are the nodes that resources left for their maintenance.
	Fallback map[string]string `json:"fallback,omitempty"`
}

// DHCP gives addresses to guests that ask for one.
type DHCP struct {
	Range  string            `json:"range,omitempty"` // "192.168.77.50-192.168.77.250"
	Bits   int               `json:"bits,omitempty"`
	Leases map[string]string `json:"leases,omitempty"` // by MAC, lower case
}

func newState() *State {
	return &State{
		Nodes:    map[string]*Node{},
		Storages: map[string]*Storage{},
		Spaces:   map[SpaceKey]*Space{},
		VMs:      map[int]*VM{},
		Pools:    map[string]*Pool{},
		Access:   access.New(),
		DirMaps:  map[string]*DirMap{},

		HardwareMaps: map[string]map[string]*HardwareMap{},
		HA: HA{
			Resources: map[string]map[string]string{},
			Groups:    map[string]map[string]string{},
			Rules:     map[string]map[string]string{},
		},
		Firewall: newFirewall(),
		Metrics:  map[string]map[string]string{}, MetricTokens: map[string]string{}, BackupJobs: map[string]*BackupJob{},
		Options: map[string]string{},
		DHCP:    DHCP{Leases: map[string]string{}},
		Dirs:    map[string]bool{},
		Serial:  map[string]uint64{},
		Tasks:   map[string][]*TaskInfo{},
	}
}
