package machines_test

import (
	"slices"
	"strings"
	"testing"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/pvesim"
)

// of are the Machines of a pool.
func (s *story) of(pool string) (list []machine) {
	s.t.Helper()
	for _, m := range s.list() {
		if m.Labels["pool"] == pool {
			list = append(list, m)
		}
	}
	return list
}

// A Proxmox node that is lost takes its machine with it: that is said, nothing is made twice, others are made meanwhile, and the machine that is deleted meanwhile goes when
// the node is back.
func TestAProxmoxNodeIsLost(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.joins()
	s.apply(s.pool(pool{name: "here", replicas: 1, spec: []string{"nodes: [pve1]"}}))
	s.apply(s.pool(pool{name: "there", replicas: 2, spec: []string{"nodes: [pve2]"}}))
	s.until("all are nodes", func() bool { return s.phases()["Running"] == 3 })
	lost := s.of("there")
	power := func(is pvesim.NodeState) { s.pve.Do(func(st *pvesim.State) { st.Nodes["pve2"].State = is }) }

	power(pvesim.Offline)
	s.until("both say that their node is away", func() bool {
		return !slices.ContainsFunc(s.of("there"), func(m machine) bool {
			return !strings.Contains(instance(m), "pve2") || strings.HasPrefix(instance(m), "VM ")
		})
	})
	s.scale("here", 2)
	s.until("another machine becomes a node meanwhile", func() bool {
		n := 0
		for _, m := range s.of("here") {
			if m.Status.NodeRef != nil {
				n++
			}
		}
		return n == 2
	})
	if err := kube.Delete(t.Context(), &lost[0], client.PropagationPolicy("Background")); err != nil {
		t.Fatal(err)
	}
	s.until("it waits for its node, and says so", func() bool {
		at := slices.IndexFunc(s.of("there"), func(m machine) bool { return m.Name == lost[0].Name })
		return at >= 0 && strings.Contains(instance(s.of("there")[at]), "pve2")
	})
	if have := s.guests(); !slices.Contains(have, lost[0].Name) || !slices.Contains(have, lost[1].Name) {
		t.Errorf("guests %v", have)
	}

	power(pvesim.Online)
	s.until("the deleted one goes, and another one takes its place", func() bool {
		return s.phases()["Running"] == 4 && len(s.machines()) == 4 && slices.Equal(s.guests(), s.machines())
	})
	if names := s.machines(); slices.Contains(names, lost[0].Name) || !slices.Contains(names, lost[1].Name) {
		t.Errorf("the Machines are %v, and were %s, which was deleted, and %s", names, lost[0].Name, lost[1].Name)
	}
}

// A template that is gone is said by the machines that need it; those that are there don't, and can be removed.
func TestATemplateIsGone(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.joins()
	s.apply(s.pool(pool{name: "md", replicas: 1, spec: []string{"fullClone: true"}}))
	s.until("it is a node", func() bool { return s.phases()["Running"] == 1 })
	first := s.machines()[0]
	s.pve.Do(func(st *pvesim.State) { delete(st.VMs, 9000) })
	s.scale("md", 2)
	s.until("the second one says so", func() bool {
		return slices.ContainsFunc(s.list(), func(m machine) bool {
			_, text := message(m)
			return m.Name != first && strings.Contains(text, "9000") && s.warned(m.Name, "9000")
		})
	})
	if s.phases()["Running"] != 1 || !slices.Equal(s.guests(), []string{first}) {
		t.Errorf("phases %v, guests %v", s.phases(), s.guests())
	}
	s.change(&clusterv1alpha1.MachineDeployment{}, "md", `{"spec":{"replicas":0}}`)
	s.until("all are gone", func() bool { return len(s.guests()) == 0 && len(s.machines()) == 0 })
}
