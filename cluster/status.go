package cluster

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/proxplane/proxplane/model"
)

// Status is the status of a cluster, for people and programs.
type Status struct {
	Name         string          `json:"name"`
	Distribution string          `json:"distribution"`
	Version      string          `json:"version"`
	APIServer    string          `json:"apiServer"`
	Ready        bool            `json:"ready"`
	Problem      string          `json:"problem,omitempty"` // why nodes aren't known
	Etcd         string          `json:"etcd"`
	Machines     []MachineStatus `json:"machines"`
}

// MachineStatus is the status of one machine.
type MachineStatus struct {
	Name      string   `json:"name"`
	Pool      string   `json:"pool"`
	Role      string   `json:"role"`
	State     string   `json:"state"` // in Proxmox
	On        string   `json:"on,omitempty"`
	VMID      int      `json:"vmid,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	Node      string   `json:"node"` // in Kubernetes
	Version   string   `json:"version,omitempty"`
}

// Status reads the machines, and the nodes of Kubernetes.
func (c *Cluster) Status(ctx context.Context) Status {
	f := c.Record.File
	s := Status{Name: c.Name, Distribution: f.Kubernetes.Distribution, Version: c.Record.Release.Version, APIServer: c.APIServer(), Ready: true, Etcd: "not known"}
	var guests []*model.Guest
	for _, m := range c.Members {
		guests = append(guests, m.Guest)
	}
	c.site.Observer().AskAddresses(ctx, guests)
	now := c.site.Observer().Snapshot().Guests
	nodes, err := c.kubeNodes(ctx, "")
	if err != nil {
		s.Ready, s.Problem = false, err.Error()
	} else {
		s.Etcd = quorumText(c.members(nodes))
	}
	list := NodesOf(f)
	for _, m := range c.Members { // more than there should be
		if !slices.ContainsFunc(list, func(n Node) bool { return n.Name == m.Name }) {
			list = append(list, m.Node)
		}
	}
	for _, n := range list {
		row := MachineStatus{Name: n.Name, Pool: n.Pool, Role: n.Role(), State: "absent", Node: "absent"}
		if m, err := c.Member(n.Name); err == nil {
			row.State, row.On, row.VMID = string(m.Guest.Status), m.Guest.Node, m.Guest.VMID
			if g := now[m.Guest.VMID]; g != nil {
				for _, a := range g.Addresses {
					row.Addresses = append(row.Addresses, a.Addr().String())
				}
			}
		}
		switch k, there := nodes[n.Name]; {
		case err != nil:
			row.Node = "unknown"
		case there:
			row.Node, row.Version = nodeState(k), k.Status.NodeInfo.KubeletVersion
		}
		s.Ready = s.Ready && row.Node == "ready" && row.State == string(model.StatusRunning)
		s.Machines = append(s.Machines, row)
	}
	return s
}

// nodeState is how a node is, in a word.
func nodeState(n corev1.Node) string {
	switch {
	case !has(n, string(corev1.NodeReady)):
		return "not ready"
	case n.Spec.Unschedulable:
		return "cordoned"
	}
	return "ready"
}
