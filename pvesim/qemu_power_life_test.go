package pvesim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	_ "github.com/proxplane/proxplane/test/kit/chance"
)

// path is where a VM is now.
func (l *lab) path(vmid int) string {
	node := "pve1"
	l.sim.Do(func(s *State) {
		if vm := s.VMs[vmid]; vm != nil {
			node = vm.Node
		}
	})
	return fmt.Sprintf("/nodes/%s/qemu/%d", node, vmid)
}

// disorder lists what must not be once all is quiet: locks that are held,
// VMs that are locked, volumes without a VM and VMs without their volumes.
func (s *Sim) disorder() (found []string) {
	for name := range s.locks {
		found = append(found, "lock file "+name+" is held")
	}
	for upid := range s.running {
		found = append(found, upid+" still runs")
	}
	named := map[string]bool{}
	for id, vm := range s.state.VMs {
		if lock := vm.Conf["lock"]; lock != "" && lock != "suspended" && lock != "suspending" {
			found = append(found, fmt.Sprintf("VM %d is locked (%s)", id, lock))
		}
		for _, r := range vm.volumeRefs() {
			if v, _ := s.volume(vm.Node, r.volid); v == nil {
				found = append(found, fmt.Sprintf("VM %d has no %s", id, r.volid))
			}
			named[r.volid] = true
		}
		for volid := range vm.Saved {
			if !named[volid] {
				found = append(found, fmt.Sprintf("VM %d remembers the memory in %s", id, volid))
			}
		}
	}
	for key, sp := range s.state.Spaces {
		for _, v := range sp.Volumes {
			if v.VMID != 0 && !named[key.Storage+":"+v.volname()] {
				found = append(found, fmt.Sprintf("nobody has %s:%s on %q", key.Storage, v.volname(), key.Node))
			}
		}
	}
	slices.Sort(found)
	return found
}

// mayDie are tasks that clean up after themselves when they are stopped.
var mayDie = []string{"qmclone", "qmsnapshot", "qmigrate", "qmstart", "qmstop", "qmshutdown", "qmreboot"}

// stopOne stops a task that is running, if there is one that may be: not
// twice, as the second signal would end the cleaning up.
func (l *lab) stopOne(stopped map[string]bool) {
	l.sim.mu.Lock()
	defer l.sim.mu.Unlock()
	for _, upid := range sortedKeys(l.sim.running) {
		if slices.Contains(mayDie, l.sim.running[upid].info.Type) && !stopped[upid] {
			stopped[upid] = true
			l.sim.kill(upid)
			return
		}
	}
}

func TestNoLifeLeavesDisorderBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
			sim, err := New(town(rapid.SampledFrom([]string{"9.2", "8.4"}).Draw(rt, "release")))
			if err != nil {
				rt.Fatal(err)
			}
			tr, stop := sim.Transport()
			defer sim.Close()
			defer stop()
			l := &lab{(&office{t: t, sim: sim, http: &http.Client{Transport: tr}}).root()}
			l.linux()
			var did []string
			stopped := map[string]bool{}
			for range rapid.IntRange(1, 20).Draw(rt, "steps") {
				did = append(did, l.step(rt, stopped))
				time.Sleep(time.Duration(rapid.IntRange(0, 8000).Draw(rt, "wait")) * time.Millisecond)
			}
			time.Sleep(5 * time.Minute)
			sim.mu.Lock()
			found := sim.disorder()
			sim.mu.Unlock()
			if len(found) > 0 {
				rt.Fatalf("after\n%s\n%s", strings.Join(did, "\n"), strings.Join(found, "\n"))
			}
		})
	})
}

// step asks for something, sensible or not, and doesn't wait for it.
func (l *lab) step(rt *rapid.T, stopped map[string]bool) string {
	vmid := rapid.SampledFrom([]int{100, 100, 100, 200, 201}).Draw(rt, "vm")
	vm := l.path(vmid)
	snap := rapid.SampledFrom([]string{"aa", "bb"}).Draw(rt, "snapshot")
	what := rapid.SampledFrom([]string{
		"start", "start", "stop", "shutdown", "reboot", "suspend", "resume", "todisk", "snapshot", "ram", "rollback", "delsnapshot",
		"clone", "linked", "template", "migrate", "destroy", "kill", "kill",
	}).Draw(rt, "what")
	var r reply
	switch what {
	case "start", "stop", "resume", "suspend":
		r = l.post(vm + "/status/" + what)
	case "shutdown", "reboot":
		r = l.post(vm+"/status/"+what, "timeout", "6")
	case "todisk":
		r = l.post(vm+"/status/suspend", "todisk", "1")
	case "snapshot":
		r = l.post(vm+"/snapshot", "snapname", snap)
	case "ram":
		r = l.post(vm+"/snapshot", "snapname", snap, "vmstate", "1")
	case "rollback":
		r = l.post(vm + "/snapshot/" + snap + "/rollback")
	case "delsnapshot":
		r = l.delete(vm + "/snapshot/" + snap)
	case "clone":
		r = l.post(vm+"/clone", "newid", rapid.SampledFrom([]string{"200", "201"}).Draw(rt, "new"), "full", "1")
	case "linked":
		r = l.post(vm+"/clone", "newid", "200")
	case "template":
		r = l.post(vm + "/template")
	case "migrate":
		target := map[bool]string{true: "pve2", false: "pve1"}[strings.Contains(vm, "pve1")]
		r = l.post(vm+"/migrate", "target", target, "online", "1", "with-local-disks", "1")
	case "destroy":
		if vmid != 100 {
			r = l.delete(vm)
		}
	case "kill":
		l.stopOne(stopped)
	}
	return fmt.Sprintf("%s %d %s: %d %s", what, vmid, snap, r.status, r.reason)
}
