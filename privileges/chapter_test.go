package privileges_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pvesim"
)

// send has all guests go to another node, as move and drain do; empty: back home, as undrain does.
func (c *cluster) send(to string) func(*model.Desired) {
	return func(want *model.Desired) {
		c.t.Helper()
		want.Moves = map[model.Key]model.Move{}
		ctx := context.Background()
		o := observe.New(c.root)
		have, err := o.Look(ctx)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, v := range want.VMs {
			for _, g := range have.Tagged(v.Owner) {
				move := model.Move{From: g.Node, To: to, Home: g.Node, Why: "its node is drained"}
				if to == "" {
					if err := o.Config(ctx, g.VMID); err != nil {
						c.t.Fatal(err)
					}
					move.To, move.Home = o.Snapshot().Guests[g.VMID].Config.Marker.Home, ""
				}
				want.Moves[v.Owner.Key] = move
			}
		}
	}
}

// apart checks that no two guests have an address in common.
func (c *cluster) apart() (err error) {
	c.sim.Do(func(s *pvesim.State) {
		configs := map[int]map[string]string{}
		for vmid, vm := range s.VMs {
			configs[vmid] = vm.Conf
		}
		for vmid, ct := range s.Containers {
			configs[vmid] = ct.Conf
		}
		holder := map[string]int{}
		for vmid, conf := range configs {
			for _, value := range conf {
				if _, rest, ok := strings.Cut(value, "ip="); ok {
					ip, _, _ := strings.Cut(rest, "/")
					if other := holder[ip]; other != 0 && strings.Contains(rest, "/") {
						err = fmt.Errorf("guests %d and %d both have %s", vmid, other, ip)
					}
					holder[ip] = vmid
				}
			}
		}
	})
	return err
}
