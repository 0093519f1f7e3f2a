package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// reuse destroys a machine and makes one of somebody else's under its VMID, on another node.
func (l *lab) reuse(name string, params pve.Params) (vmid int) {
	l.t.Helper()
	node := "pve1"
	l.vm(name, func(_ *pvesim.State, vm *pvesim.VM) {
		if vmid = vm.ID; vm.Node == node {
			node = "pve2"
		}
	})
	l.vanish(name)
	params["vmid"], params["name"] = fmt.Sprint(vmid), "theirs"
	var task any
	if err := l.connect(pve.Password("root@pam", "secret")).Call(l.t.Context(), "POST", "/nodes/"+node+"/qemu", params, &task); err != nil {
		l.t.Fatal(err)
	}
	return vmid
}

// What the agent of somebody else's machine says is no reason to wait.
func TestAMachineWhoseVMIDOthersReuseIsMadeAnewAtOnce(t *testing.T) {
	w := labWorld(3)
	w.Timing.Agent = ms(30_000)
	inLab(t, w, func(t *testing.T, l *lab) {
		s := l.serve(l.client)
		defer s.end()
		s.Want(desired(machine("web")), nil)
		for l.named("web")["running"] == "" {
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(3 * time.Second) // its agent is being asked
		old := l.reuse("web", pve.Params{"memory": "512"})
		since := time.Now()
		if o := s.await("web", engine.StateReady); o.VMID == old || time.Since(since) > 3*time.Minute {
			t.Errorf("VM %d instead of %d was ready after %v\n%s", o.VMID, old, time.Since(since), l.story())
		}
		if c := l.named("theirs"); c == nil || c["memory"] != "512" {
			t.Errorf("theirs is %v", c)
		}
	})
}

// Somebody may have put right what failed, or have made another machine of it.
func TestAMachineThatWasTouchedIsReadAgainThoughSomethingFailsEachTime(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		s.Want(desired(machine("web")), nil)
		s.await("web", engine.StateReady)
		time.Sleep(time.Minute)
		l.fault(pvesim.Fault{Method: "PUT", Path: "/nodes/*/qemu/*/config", Status: 403, Reason: "Permission check failed (/vms/5000, VM.Config.Options)"})
		vm := machine("web")
		vm.Description = "another one"
		s.Want(desired(vm), nil)
		s.await("web", engine.StateFailed)
		time.Sleep(time.Second)
		l.sim.RemoveFault(0)
		before := l.sim.RequestCount()
		l.setConfig("web", "tags", "changed-by-hand")
		time.Sleep(time.Minute)
		read := 0
		for _, r := range l.requests(before) {
			if strings.HasSuffix(r, "/pending") && !strings.Contains(r, "/qemu/90") {
				read++
			}
		}
		if read == 0 || read > 3 {
			t.Errorf("its config was read %d times within a minute\n%s", read, l.story())
		}
	})
}

func TestAVMIDThatCannotBeReadIsNotReadAllTheTime(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		l.fault(pvesim.Fault{Task: "qmclone", Error: "something went wrong", Mode: "instead", Times: 3})
		l.fault(pvesim.Fault{Path: "/cluster/nextid", Status: 500, Reason: "something went wrong"})
		s := l.serve(l.client)
		defer s.end()
		s.Want(desired(machines(3)...), nil)
		time.Sleep(time.Minute)
		asked := 0
		for _, r := range l.requests(0) {
			if strings.HasSuffix(r, "/cluster/nextid") {
				asked++
			}
		}
		if asked == 0 || asked > 3*10 {
			t.Errorf("the VMIDs of 3 machines were asked for %d times within a minute", asked)
		}
	})
}
