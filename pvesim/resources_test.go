package pvesim

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"
)

func TestANodeThatCannotBeReachedSeemsToBeOnlineUntilItsFiguresAreOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quietWorld()
		w.Load.StatusRound = Duration(10 * time.Second)
		sim, b := startSim(t, w)
		status := func() string {
			_, text := b.get("/api2/json/cluster/resources?type=node")
			var out struct {
				Data []struct{ Node, Status string }
			}
			if err := json.Unmarshal([]byte(text), &out); err != nil {
				t.Fatal(err)
			}
			for _, e := range out.Data {
				if e.Node == "pve2" {
					return e.Status
				}
			}
			return ""
		}
		sim.Do(func(s *State) { s.Nodes["pve2"].State = Unreachable })
		for _, step := range []struct {
			pass time.Duration
			want string
		}{{time.Second, "online"}, {4 * time.Minute, "online"}, {2 * time.Minute, "unknown"}} {
			time.Sleep(step.pass)
			if got := status(); got != step.want {
				t.Errorf("%v later it is %s, not %s", step.pass, got, step.want)
			}
		}
		sim.Do(func(s *State) { s.Nodes["pve2"].State = Online })
		if got := status(); got != "online" {
			t.Errorf("back again it is %s", got)
		}
	})
}
