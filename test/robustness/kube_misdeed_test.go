package robustness

import (
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/kubesim"
)

// kubeMisdeeds are for the checks about the operator. The machine of VirtualMachine vm-a,
// which runs and is Ready, is there.
var kubeMisdeeds = []misdeed{
	{"a request is about a machine of others", func(r *run, _ int) {
		r.misbehave(http.MethodPut, r.bystander(), "/config", "cores", "2")
	}, `^a request would change VM \d+, which isn't ours`},
	{"a machine of others is changed", func(r *run, _ int) {
		r.sim.Do(func(s *pvesim.State) { s.VMs[r.bystander()].Conf["cores"] = "9" })
	}, `^VM \d+, which isn't ours, was changed: .*\+cores: 9`},
	{"a request is about a machine of an object that never was", func(r *run, id int) {
		r.remark(id, id, func(m *model.Marker) { m.Owner.UID = "nobody" })
		r.misbehave(http.MethodPut, id, "/config", "cores", "2")
	}, `^VM \d+ of virtualmachine/team/vm-a is nobody's`},
	{"a machine is destroyed that is wanted", func(r *run, id int) {
		r.misbehave(http.MethodDelete, id, "")
	}, `^VM \d+ of virtualmachine/team/vm-a isn't to be destroyed`},
	{"an option is taken away, and no plan says so", func(r *run, id int) {
		r.misbehave(http.MethodPut, id, "/config", "delete", "cores")
	}, `^nobody has planned it: PUT .*/config takes \d+ away`},
	{"a machine is stopped that is to run", func(r *run, id int) {
		r.misbehave(http.MethodPost, id, "/status/stop")
	}, `^VM \d+ of virtualmachine/team/vm-a isn't to stop`},
	{"two machines of a class are restarted at once, in two namespaces", func(r *run, id int) {
		guest := spec(r.kube.api.Get(machines, team, "vm-a"))
		guest["classRef"], guest["imageRef"] = map[string]any{"name": "small", "namespace": team}, map[string]any{"name": r.h.world.images[0], "namespace": team}
		guest["updatePolicy"] = map[string]any{"restart": "Allow"}
		r.kube.edit(machines, "vm-a", func(o kubesim.Object) { spec(o)["updatePolicy"] = map[string]any{"restart": "Allow"} })
		r.kube.lodge()
		r.kube.sharing([]any{lodgers})
		r.kube.make(machines, named("guest-a", guest))
		r.kube.await(10*time.Minute, r.kube.settled)
		r.kube.off()
		r.misbehave(http.MethodPost, id, "/status/stop")
		time.Sleep(10 * time.Second)
		r.misbehave(http.MethodPost, vmidOf(r.kube.api.Get(machines, lodgers, "guest-a")), "/status/stop")
	}, `^VM \d+ of VirtualMachine guest-a is restarted while VM \d+ of VirtualMachine vm-a, which is of the same class, hasn't come back`},
	{"the template of an image that is wanted is destroyed", func(r *run, _ int) {
		machine := spec(r.kube.api.Get(machines, team, "vm-a"))
		machine["imageRef"] = map[string]any{"name": fetchedName}
		r.kube.fetch()
		r.kube.make(machines, named("vm-f", machine))
		r.kube.await(10*time.Minute, r.kube.settled)
		r.kube.off()
		r.misbehave(http.MethodDelete, vmidOf(r.kube.api.Get(images, team, fetchedName)), "")
	}, `^VM \d+, the template of vmimage/team/fetched, isn't to be destroyed`},
	{"a machine that was let go by force is changed", func(r *run, id int) {
		r.kube.edit(machines, "vm-a", func(o kubesim.Object) { o.Annotate(forceDelete, "true") })
		r.letGo(id)
	}, `^VM \d+ of virtualmachine/team/vm-a was let go, and is to stay as it is`},
	{"a machine that was retained is changed", func(r *run, id int) {
		r.kube.edit(machines, "vm-a", func(o kubesim.Object) { spec(o)["deletionPolicy"] = "Retain" })
		r.letGo(id)
	}, `^(VM \d+ of virtualmachine/team/vm-a was let go, and is to stay as it is|a request would change VM \d+, which isn't ours)`},
	{"a machine is destroyed whose object was lost", func(r *run, id int) {
		r.kube.api.Lose(machines, team, "vm-a")
		r.misbehave(http.MethodDelete, id, "")
	}, `^VM \d+ of virtualmachine/team/vm-a isn't in Kubernetes any more, and nobody has deleted it`},
	{"an object goes before its machine", func(r *run, _ int) {
		r.kube.off()
		r.kube.delete(machines, "vm-a")
		r.kube.edit(machines, "vm-a", func(o kubesim.Object) { o.Hold() })
	}, `^VirtualMachine vm-a is gone from Kubernetes, and VM \d+ is still there`},
	{"there are two machines for one object", func(r *run, id int) {
		r.remark(id, 7777, func(m *model.Marker) { m.VMID = 7777 })
	}, `^object \S+ \(vm-a\) has 2 machines`},
	{"two machines run with one address", func(r *run, id int) {
		r.remark(id, 7777, func(m *model.Marker) { m.VMID, m.Owner.UID = 7777, "another" })
		r.sim.Do(func(s *pvesim.State) { s.VMs[7777].Run = s.VMs[id].Run })
	}, `^2 running machines have the address`},
	{"an object is Ready, and its machine isn't there", func(r *run, id int) {
		r.kube.off()
		r.sim.Do(func(s *pvesim.State) { delete(s.VMs, id) })
		r.kube.saysReady()
	}, `^VirtualMachine vm-a is Ready with VM \d+, which isn't there`},
	{"an object is Ready, and its machine says that it isn't ours", func(r *run, id int) {
		r.kube.off()
		r.sim.Do(func(s *pvesim.State) { s.VMs[id].Conf["description"] = "" })
		r.kube.saysReady()
	}, `^VirtualMachine vm-a is Ready with VM \d+, which says that it isn't ours`},
	{"an object is Ready, though we have read that others have its machine", func(r *run, id int) {
		r.kube.off()
		r.others.takeOver(id)
		time.Sleep(time.Minute)
		r.misbehave(http.MethodGet, id, "/pending")
		r.kube.saysReady()
	}, `^VirtualMachine vm-a is Ready with VM \d+, which says that it isn't ours`},
	{"an object is Ready with the machine of another one", func(r *run, id int) {
		r.kube.off()
		r.remark(id, id, func(m *model.Marker) { m.Owner.UID = "another" })
		r.kube.saysReady()
	}, `^VirtualMachine vm-a is Ready with VM \d+, which says that it is another object's`},
	{"an object is Ready, and its machine doesn't run", func(r *run, id int) {
		r.kube.off()
		r.sim.Do(func(s *pvesim.State) { s.VMs[id].Run = nil })
		r.kube.saysReady()
	}, `^VirtualMachine vm-a is Ready with VM \d+, which doesn't run`},
	{"the spec of an object is invalid", func(r *run, _ int) {
		r.kube.edit(machines, "vm-a", func(o kubesim.Object) { spec(o)["classRef"] = map[string]any{"name": "nosuch"} })
	}, `^VirtualMachine vm-a isn't as it should be in the end: False Invalid`},
	{"an object is never compared with Proxmox again", func(r *run, _ int) {
		r.kube.off()
		r.kube.says(func(o kubesim.Object) { condition(o, "Reachable")["status"] = "Unknown" })
	}, `^VirtualMachine vm-a isn't as it should be in the end`},
	{"an object is Ready without a login", func(r *run, _ int) {
		r.kube.off()
		r.kube.api.Lose("secrets", team, "login")
	}, `^VirtualMachine vm-a has neither login nor Provider any more and says: True`},
	{"a machine isn't up to date", func(r *run, id int) {
		r.kube.off()
		r.sim.Do(func(s *pvesim.State) { s.VMs[id].Conf["memory"] = "4096" })
	}, `^VM \d+ of vm-a: memory should be 1024 and is 4096`},
	{"an object is Ready in the end and has no machine", func(r *run, id int) {
		r.kube.off()
		r.sim.Do(func(s *pvesim.State) { s.VMs[id].Conf["description"] = "" })
	}, `^VirtualMachine vm-a is Ready and has 0 machines`},
	{"an object is Ready in the end and has a machine too many", func(r *run, id int) {
		r.kube.off()
		r.remark(id, 7777, func(m *model.Marker) { m.VMID, m.Owner.Name = 7777, "vm-a-9" })
	}, `^VirtualMachine vm-a is Ready and has vm-a-9, too`},
	{"a snapshot is Ready and isn't there", func(r *run, id int) {
		r.kube.off()
		r.kube.make(shots, named("snap", map[string]any{"vmRef": map[string]any{"name": "vm-a"}}))
		_, _ = r.kube.api.Update(shots, team, "snap", "status", func(o kubesim.Object) error {
			o["status"] = map[string]any{"vmid": id, "snapshot": "snap", "conditions": []any{map[string]any{"type": "Ready", "status": "True", "observedGeneration": 1}}}
			return nil
		})
	}, `^VMSnapshot snap is Ready, and VM \d+ has no snapshot snap`},
	{"somebody changes it again and again", func(r *run, id int) {
		go r.keepEditing(id, "tags", "x")
	}, `changes were made though nothing was to be done|isn't as it should be in the end`},
	{"an object doesn't go", func(r *run, _ int) { r.kube.off() }, `^VirtualMachine vm-a doesn't go`},
	{"a machine is left behind", func(r *run, _ int) {
		r.sim.Do(func(s *pvesim.State) {
			s.VMs[7777] = &pvesim.VM{ID: 7777, Node: r.h.world.nodes[0], Conf: pvesim.Conf{"name": "forgotten"}}
		})
	}, `^VM 7777 \(forgotten\) is left behind`},
	{"a secret is written", func(r *run, _ int) { r.Write([]byte("token: " + ourSecret)) }, `^a secret was written`},
}

// TestEachCheckAboutTheOperatorCanFail shows by a misdeed for each check that it can.
func TestEachCheckAboutTheOperatorCanFail(t *testing.T) {
	areFound(t, kubeMisdeeds, misdeed.operatorHistory)
}

func TestWithoutAMisdeedTheOperatorDoesNothingWrong(t *testing.T) {
	findsNothing(t, misdeed.operatorHistory)
}

// operatorHistory is one of one object, where nothing goes wrong but the misdeed.
func (m misdeed) operatorHistory() *history {
	h := &history{seed: 1, world: drawWorld(1), operator: true}
	h.world.sets, h.world.crowd, h.world.password, h.world.wire = 0, false, false, false
	h.events = []event{
		{0, wishCreate, "vm-a is wanted", func(r *run) {
			r.kube.make(machines, named("vm-a", map[string]any{
				"providerRef": map[string]any{"name": "pve"}, "classRef": map[string]any{"name": "small"}, "imageRef": map[string]any{"name": h.world.images[0]},
				"networks": []any{map[string]any{"name": "lan", "bridge": "vmbr0"}},
			}))
		}},
		{0, rests, "rest", func(r *run) { r.kube.await(10*time.Minute, r.kube.settled) }},
		{0, "misdeed", m.what, func(r *run) {
			r.watch.look()
			m.do(r, vmidOf(r.kube.api.Get(machines, team, "vm-a")))
			r.watch.look()
		}},
	}
	return h
}

// remark puts another marker on a machine, or on a copy of it under another VMID.
func (r *run) remark(id, to int, change func(*model.Marker)) {
	r.sim.Do(func(s *pvesim.State) {
		_, m, _ := model.ParseDescription(s.VMs[id].Conf["description"])
		change(&m)
		if to != id {
			twin := *s.VMs[id]
			twin.ID, twin.Run, twin.Conf = to, nil, maps.Clone(twin.Conf)
			delete(twin.Conf, "scsi0")
			s.VMs[to] = &twin
		}
		s.VMs[to].Conf["description"] = model.Describe("", m)
	})
}

// letGo deletes an object whose machine is to stay, and changes that when the object has
// gone.
func (r *run) letGo(id int) {
	r.kube.delete(machines, "vm-a")
	r.kube.await(5*time.Minute, func() bool { return r.kube.api.Get(machines, team, "vm-a") == nil })
	time.Sleep(time.Second)
	r.misbehave(http.MethodPut, id, "/config", "cores", "2")
}

// off ends the operators for good.
func (k *kube) off() {
	k.run.mu.Lock()
	k.stopped = true
	k.run.mu.Unlock()
	for _, p := range k.living() {
		p.crash()
		<-p.ended
	}
}

// says changes what vm-a says of itself.
func (k *kube) says(change func(kubesim.Object)) {
	_, err := k.api.Update(machines, team, "vm-a", "status", func(o kubesim.Object) error {
		change(o)
		return nil
	})
	if err != nil {
		k.run.fail("vm-a: %v", err)
	}
}

// saysReady has vm-a say once more that it is Ready.
func (k *kube) saysReady() {
	k.says(func(o kubesim.Object) { condition(o, "Ready")["message"] = "all is well" })
}
