package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/proxplane/proxplane/model"
)

// isVoter reports whether a node is a member of etcd that votes. RKE2 and k3s say so in a condition.
func isVoter(n corev1.Node) bool { return has(n, "EtcdIsVoter") }

// isMember reports whether a node is a member of etcd.
func isMember(n corev1.Node) bool {
	_, is := n.Labels["node-role.kubernetes.io/etcd"]
	return is
}

// members are the members of etcd by name, and whether they work: Kubernetes says that the node is ready
// and votes, and Proxmox says that its machine runs. Kubernetes alone notices a lost machine late: a
// node stays ready for most of a minute.
func (c *Cluster) members(nodes map[string]corev1.Node) map[string]bool {
	runs := map[string]bool{}
	for _, m := range c.Members {
		runs[m.Name] = m.Guest.Status == model.StatusRunning
	}
	out := map[string]bool{}
	for name, n := range nodes {
		if isMember(n) {
			out[name] = has(n, string(corev1.NodeReady)) && isVoter(n) && runs[name]
		}
	}
	return out
}

// membersNow are the same, after Proxmox was asked again which machines run.
func (c *Cluster) membersNow(ctx context.Context, nodes map[string]corev1.Node) (map[string]bool, error) {
	var ids []int
	for _, m := range c.Members {
		if m.Server() && !m.Away {
			ids = append(ids, m.Guest.VMID)
		}
	}
	away, err := power(ctx, c.site, ids)
	if err != nil {
		return nil, err
	}
	for i := range c.Members {
		switch m := &c.Members[i]; {
		case !m.Server() || m.Away:
		case away[m.Guest.VMID]:
			c.Members[i] = c.awayMember(m.Guest)
		default:
			g, err := known(ctx, c.site, m.Guest.VMID)
			switch {
			case err != nil:
				return nil, err
			case g != nil:
				m.Guest = g
			}
		}
	}
	return c.members(nodes), nil
}

// working counts the members that work.
func working(members map[string]bool) (n int) {
	for _, works := range members {
		if works {
			n++
		}
	}
	return n
}

// quorumText says how many members of etcd work, and how many have to.
func quorumText(members map[string]bool) string {
	return fmt.Sprintf("%d of %d members work; it takes %d", working(members), len(members), len(members)/2+1)
}

// ErrQuorum is the error for an operation that would leave etcd without a majority.
var ErrQuorum = errors.New("etcd would lose its quorum")

// guardQuorum refuses to remove members, one after the other, if that would leave etcd without a
// majority of working members at any time.
func guardQuorum(members map[string]bool, without ...string) error {
	left := maps.Clone(members)
	for _, name := range without {
		delete(left, name)
		switch n := working(left); {
		case len(left) == 0:
			return fmt.Errorf("%w: %s is the last control plane", ErrQuorum, name)
		case n*2 <= len(left):
			return fmt.Errorf("%w: without %s, %d of %d members work, and it takes %d; repair the others first", ErrQuorum, name, n, len(left), len(left)/2+1)
		}
	}
	return nil
}

// guardRestart refuses to stop a member of etcd for a while, if the others are no majority.
func guardRestart(members map[string]bool, name string) error {
	left := maps.Clone(members)
	if len(left) == 1 { // the cluster is away meanwhile, and comes back as it was
		return nil
	}
	left[name] = false
	if n := working(left); n*2 <= len(left) {
		return fmt.Errorf("%w: while %s restarts, %d of %d members work, and it takes %d; repair the others first", ErrQuorum, name, n, len(left), len(left)/2+1)
	}
	return nil
}

// mayRestart refuses to stop a control plane while the others aren't a majority of etcd.
func (c *Cluster) mayRestart(ctx context.Context, m *Member) error {
	if !m.Server() {
		return nil
	}
	nodes, err := c.kubeNodes(ctx, "")
	if err != nil {
		return err
	}
	members, err := c.membersNow(ctx, nodes)
	if err != nil {
		return err
	}
	return guardRestart(members, m.Name)
}
