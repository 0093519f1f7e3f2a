package karpenter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Policies for the CPUs of Proxmox nodes.
const (
	PolicySimple = "simple" // chosen by the host's scheduler
	PolicyStatic = "static" // each machine has CPUs that no other one is pinned to
)

// NodeSettings are settings of Proxmox nodes, by region and node, in the format of karpenter-provider-proxmox. The node * stands for all others of a
// region.
type NodeSettings map[string]map[string]nodeSetting

// nodeSetting is what is said about one node.
type nodeSetting struct {
	Sockets        int                 `json:"sockets,omitempty"`
	Threads        int                 `json:"threads,omitempty"`      // a core
	UncoreCaches   int                 `json:"uncorecaches,omitempty"` // ignored
	Nodes          map[string]numaNode `json:"nodes,omitempty"`        // by the number of the NUMA node
	ReservedCPUs   []int               `json:"reservedcpus,omitempty"`
	ReservedMemory int64               `json:"reservedmemory,omitempty"` // bytes
}

type numaNode struct {
	CPUs   string `json:"cpus"`
	Memory int64  `json:"memory,omitempty"`
}

// of is what is said about a node.
func (s NodeSettings) of(region, node string) nodeSetting {
	if one, said := s[region][node]; said {
		return one
	}
	return s[region]["*"]
}

// ReadNodeSettings reads the file with settings of nodes.
func ReadNodeSettings(file string) (NodeSettings, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read settings of nodes: %w", err)
	}
	s, err := parseNodeSettings(text)
	if err != nil {
		return nil, fmt.Errorf("read settings of nodes of %s: %w", file, err)
	}
	return s, nil
}

func parseNodeSettings(text []byte) (NodeSettings, error) {
	var s NodeSettings
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, err
	}
	for region, nodes := range s {
		for node, one := range nodes {
			if err := one.check(); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", region, node, err)
			}
		}
	}
	return s, nil
}

// check says what is wrong with the settings of a node.
func (n nodeSetting) check() error {
	if n.Sockets < 0 || n.Threads < 0 || n.ReservedMemory < 0 {
		return errors.New("sockets, threads and reservedmemory can't be negative")
	}
	for _, cpu := range n.ReservedCPUs {
		if cpu < 0 || cpu >= mostCPUs {
			return fmt.Errorf("reservedcpus: there is no CPU %d", cpu)
		}
	}
	seen := cpuSet{}
	for name, one := range n.Nodes {
		if id, err := strconv.Atoi(name); err != nil || id < 0 {
			return fmt.Errorf("nodes: want the number of a NUMA node, have %q", name)
		}
		cpus, err := parseCPUs(one.CPUs)
		switch {
		case err != nil:
			return fmt.Errorf("nodes: %s: cpus: %w", name, err)
		case len(cpus) == 0:
			return fmt.Errorf("nodes: %s: cpus is missing", name)
		}
		for cpu := range cpus {
			if seen[cpu] {
				return fmt.Errorf("nodes: CPU %d is in two NUMA nodes", cpu)
			}
			seen[cpu] = true
		}
	}
	return nil
}

// topology are the NUMA nodes of a host with the CPUs of each. Proxmox' API doesn't have that. Where it isn't configured, each socket is a NUMA node, and CPUs are
// numbered as Linux does: first one thread of each core, socket by socket, then the next.
func (n nodeSetting) topology(cpus int) map[int]cpuSet {
	numa := map[int]cpuSet{}
	for name, one := range n.Nodes {
		id, _ := strconv.Atoi(name)
		numa[id] = cpuSet{}
		numa[id].add(one.CPUs)
	}
	if len(numa) > 0 || cpus <= 0 {
		return numa
	}
	cores, sockets := max(1, cpus/n.threads()), max(1, n.Sockets)
	for cpu := range cpus {
		id := min(cpu%cores*sockets/cores, sockets-1)
		if numa[id] == nil {
			numa[id] = cpuSet{}
		}
		numa[id][cpu] = true
	}
	return numa
}

func (n nodeSetting) threads() int { return max(1, n.Threads) }
