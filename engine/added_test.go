package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// An image of all nodes is on those, too, that join the cluster when it has been ready for long.
func TestANodeThatJoinsTheClusterGetsAnImageOfAllNodes(t *testing.T) {
	url, checksum := library(t)
	inLab(t, localWorld(2), func(t *testing.T, l *lab) {
		want := spreadOut(0, fetched(url, checksum))
		want.Images[0].Ahead = []string{model.AllNodes}
		s := l.serve(l.client)
		s.Want(want, nil)
		name := want.Images[0].Owner.Name
		s.await(name, model.StateReady)
		time.Sleep(time.Hour)
		l.sim.Do(func(st *pvesim.State) {
			added := *st.Nodes["pve1"]
			added.Name, added.ID, added.IP = "pve3", 3, "192.0.2.33"
			st.Nodes[added.Name] = &added
		})
		time.Sleep(time.Minute)
		if got := l.nodesOf(true); !slices.Equal(got, []string{"pve1", "pve2", "pve3"}) {
			t.Errorf("templates are on %v", got)
		}
		s.end()
		l.mustConverge(want)
		l.check(want)
	})
}
