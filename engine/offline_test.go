package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// lose takes a node away for so long that lists don't show the names of its guests any more.
func (l *lab) lose(node string) {
	l.sim.Do(func(s *pvesim.State) { s.Nodes[node].State = pvesim.Offline })
	time.Sleep(6 * time.Minute)
}

func (l *lab) regain(node string) {
	l.sim.Do(func(s *pvesim.State) { s.Nodes[node].State = pvesim.Online })
	time.Sleep(time.Minute)
}

// within converges for some time.
func (l *lab) within(d time.Duration, want model.Desired) map[string]engine.Outcome {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	rep, _ := l.engine().Converge(ctx, want, l.options())
	out := map[string]engine.Outcome{}
	for _, o := range rep.Objects {
		out[o.Owner.Name] = o
	}
	return out
}

func TestANodeThatIsOfflineHoldsUpNoNewMachine(t *testing.T) {
	url, checksum := library(t)
	for _, c := range []struct {
		reason string
		world  *pvesim.World
		want   func() model.Desired
		uid    string
	}{
		{"templates made by hand", labWorld(3), func() model.Desired { return desired(machines(3)...) }, ""},
		{"objects of Kubernetes", labWorld(3), func() model.Desired { return desired(machines(3)...) }, "8d1c"},
		{"an image that each node has its own template of", localWorld(3), func() model.Desired { return spreadOut(3, fetched(url, checksum)) }, ""},
	} {
		w := c.world
		w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 105, Node: "pve3", Config: map[string]string{"name": "db", "scsi0": "local-lvm:8"}})
		inLab(t, w, func(t *testing.T, l *lab) {
			want := c.want()
			for i := range want.VMs {
				want.VMs[i].Owner.UID = c.uid
				want.VMs[i].Place = model.Place{Nodes: []string{fmt.Sprintf("pve%d", i+1)}}
			}
			l.mustConverge(want)
			count := len(l.ours())
			l.lose("pve3")

			one := want.VMs[0]
			one.Owner.Name, one.Name, one.Place, one.NICs = "new", "new", model.Place{}, nil
			want.VMs = append(want.VMs, one)
			out := l.within(10*time.Minute, want)
			if out["new"].State != engine.StateReady || out[want.VMs[0].Name].State != engine.StateReady {
				t.Errorf("%s: %+v", c.reason, out)
			}
			if gone := out[want.VMs[2].Name]; gone.State == engine.StateReady || gone.Reason != model.WaitNode {
				t.Errorf("%s: the machine of the node that is offline: %s %s", c.reason, gone.State, gone.Text)
			}
			want.VMs[3].Deleted = true
			if out := l.within(10*time.Minute, want); out["new"].Reason != model.ReasonGone {
				t.Errorf("%s: it isn't gone: %+v", c.reason, out["new"])
			}
			want.VMs[3].Deleted = false

			l.regain("pve3")
			l.mustConverge(want)
			if n := len(l.ours()); n != count+1 {
				t.Errorf("%s: %d guests, %d wanted", c.reason, n, count+1)
			}
		})
	}
}
