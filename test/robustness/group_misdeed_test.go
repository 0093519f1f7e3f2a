package robustness

import (
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pvesim"
)

// groupMisdeeds are about addresses from pools and firewalls.
var groupMisdeeds = []misdeed{
	{"two machines run with one address", func(r *run, id int) {
		r.sim.Do(func(s *pvesim.State) {
			other := s.VMs[r.bystander()]
			other.Run = s.VMs[id].Run
			other.Conf["ipconfig0"], s.VMs[id].Conf["ipconfig0"] = "ip=10.9.1.1/16", "ip=10.9.1.1/16"
		})
	}, `^VMs \d+ and \d+ run with the address 10\.9\.1\.1`},
	{"a machine gets another address", func(r *run, id int) {
		for _, address := range []string{"10.9.1.1", "10.9.1.2"} {
			r.sim.Do(func(s *pvesim.State) { s.VMs[id].Conf["ipconfig0"] = "ip=" + address + "/16" })
			r.watch.look()
		}
	}, `^a machine ran with \[10\.9\.1\.1\], and has \[10\.9\.1\.2\] now`},
	{"a machine has no address of its pool", func(r *run, id int) {
		r.sim.Do(func(s *pvesim.State) { s.VMs[id].Conf["ipconfig0"] = "ip=10.9.7.7/16,gw=10.9.0.1" })
		r.lease(false)
	}, `net0 has no IPv4 address of the pool: "ip=10\.9\.7\.7/16,gw=10\.9\.0\.1"`},
	{"an address is held by another machine", func(r *run, id int) {
		r.sim.Do(func(s *pvesim.State) {
			s.VMs[id].Conf["ipconfig0"], s.VMs[r.bystander()].Conf["ipconfig0"] = "ip=10.9.1.1/16,gw=10.9.0.1", "ip=10.9.1.1/16"
		})
		r.lease(false)
	}, `10\.9\.1\.1 is held by \[\d+\], too`},
	{"a machine waits for an address though one is free", func(r *run, _ int) { r.lease(true) }, `^virtualmachine/vm-a of set one is Waiting in the end: no address`},
	{"a firewall isn't as it is wanted", func(r *run, _ int) {
		r.sets[0].change(func() { r.sets[0].find("vm-a").Firewall = &model.Firewall{Options: map[string]string{"enable": "1"}} })
		r.asWanted(r.sets[0])
	}, `firewall should be map\[enable:1\] \[\] and is map\[\] \[\]`},
	{"a rule is removed, and no plan says so", func(r *run, id int) {
		r.misbehave("DELETE", id, "/firewall/rules/0")
	}, `^nobody has planned it: DELETE .*/firewall/rules/0 takes \d+ away`},
}

// lease has vm-a want an address from a pool, and judges that right away: as it is, or as one that waits.
func (r *run) lease(waits bool) {
	s := r.sets[0]
	s.change(func() { s.find("vm-a").Leases = []model.Lease{{Slot: "net0", Pool: groupPool(3, false)}} })
	if !waits {
		r.asWanted(s)
		return
	}
	for _, text := range r.unexcused(s, engine.Report{Objects: []engine.Outcome{{
		Owner: s.owner("VirtualMachine", "vm-a"), State: engine.StateWaiting, Text: "no address", Since: time.Now(), Wait: &plan.Wait{Reason: model.WaitAddress},
	}}}) {
		r.fail("%s", text)
	}
}

// TestEachCheckOfGroupsCanFail shows by a misdeed for each check that it can.
func TestEachCheckOfGroupsCanFail(t *testing.T) { areFound(t, groupMisdeeds, misdeed.history) }
