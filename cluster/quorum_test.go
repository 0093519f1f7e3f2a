package cluster

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/proxplane/proxplane/model"
)

func TestQuorumIsGuardedOverAllRemovals(t *testing.T) {
	five := map[string]bool{"a": false, "b": true, "c": true, "d": true, "e": true} // a is broken
	for _, c := range []struct {
		without []string
		refused bool
	}{
		{[]string{"e"}, false},
		{[]string{"e", "d"}, false},
		{[]string{"e", "d", "c"}, true}, // each alone may go
		{[]string{"a"}, false},
		{[]string{"e", "d", "c", "b", "a"}, true},
	} {
		if err := guardQuorum(five, c.without...); errors.Is(err, ErrQuorum) != c.refused {
			t.Errorf("without %v: %v", c.without, err)
		}
	}
	if err := guardRestart(map[string]bool{"a": true, "b": true, "c": false}, "a"); !errors.Is(err, ErrQuorum) {
		t.Errorf("a member restarts while another one is away: %v", err)
	}
	if err := errors.Join(guardRestart(map[string]bool{"a": true, "b": true, "c": false}, "c"), guardRestart(map[string]bool{"a": true}, "a")); err != nil {
		t.Error(err)
	}
}

// Kubernetes calls a node ready for most of a minute after its machine is gone. Proxmox knows better.
func TestAMemberWhoseMachineIsOffDoesNotWork(t *testing.T) {
	node := corev1.Node{}
	node.Labels = map[string]string{"node-role.kubernetes.io/etcd": "true"}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: "EtcdIsVoter", Status: corev1.ConditionTrue}}
	c := &Cluster{Members: []Member{
		{Node: Node{Name: "lab-cp-0", Pool: controlPool}, Guest: &model.Guest{Status: model.StatusRunning}},
		{Node: Node{Name: "lab-cp-1", Pool: controlPool}, Guest: &model.Guest{Status: model.StatusStopped}},
	}}
	members := c.members(map[string]corev1.Node{"lab-cp-0": node, "lab-cp-1": node, "lab-cp-2": node}) // of the third there is no machine
	if have := quorumText(members); have != "1 of 3 members work; it takes 2" {
		t.Errorf("etcd: %s", have)
	}
	if err := guardQuorum(members, "lab-cp-0"); !errors.Is(err, ErrQuorum) {
		t.Errorf("the last member that works may go: %v", err)
	}
}
