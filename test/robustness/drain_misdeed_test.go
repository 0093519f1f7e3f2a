package robustness

import (
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// drainMisdeeds are about machines that people have moved by proxplane.
var drainMisdeeds = []misdeed{
	{"a machine comes from a node that nobody has drained", func(r *run, id int) {
		r.sim.Do(func(s *pvesim.State) {
			text, m, _ := model.ParseDescription(s.VMs[id].Conf["description"])
			m.Home = "pve9"
			s.VMs[id].Conf["description"] = model.Describe(text, m)
		})
	}, `^VM \d+ says that it comes from pve9, which nobody has drained`},
	{"a drained machine is where it was", func(r *run, id int) {
		var node string
		r.sim.Do(func(s *pvesim.State) { node = s.VMs[id].Node })
		owner := r.sets[0].owner("VirtualMachine", "vm-a")
		r.relocated(model.Desired{Set: owner.Set, Moves: map[model.Key]model.Move{owner.Key: {From: node, Home: node}}},
			engine.Report{Objects: []engine.Outcome{{Owner: owner, State: engine.StateReady}}}, time.Now())
	}, `^virtualmachine/vm-a was to leave pve\d and is said to be done, and VM \d+ is there`},
}

// TestEachCheckOfDrainsCanFail shows by a misdeed for each check that it can.
func TestEachCheckOfDrainsCanFail(t *testing.T) { areFound(t, drainMisdeeds, misdeed.history) }
