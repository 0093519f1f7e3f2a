package operator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pvesim"
)

// A class that is changed restarts its machines one after the other, those of a count and
// others alike.
func TestAChangedClassRestartsOneMachineAtATime(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("pool", "count: 3", "updatePolicy: {restart: Allow}"))
	s.apply(machine("single", "updatePolicy: {restart: Allow}"))
	const all = 4
	s.waitFor("--for=condition=Ready", "vm/pool", "vm/single")
	up := func() (up, changed int) {
		s.pve.Do(func(st *pvesim.State) {
			for _, vm := range st.VMs {
				if vm.Run != nil && !vm.Template() {
					if !vm.Run.Agent.IsZero() && !s.pve.Now().Before(vm.Run.Agent) {
						up++
					}
					if vm.Run.Mem == 4<<30 {
						changed++
					}
				}
			}
		})
		return up, changed
	}
	least, done, ended := all, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-done:
				return
			case <-tick.C:
				n, _ := up()
				least = min(least, n)
			}
		}
	}()
	s.kubectl("patch", "vmclass", "small", "--type=merge", "-p", `{"spec":{"memory":"4Gi"}}`)
	s.until("all have been restarted", func() bool {
		_, changed := up()
		return changed == all
	})
	close(done)
	<-ended
	if least < all-1 {
		t.Errorf("%d of %d machines were up at one time", least, all)
	}
	s.waitFor("--for=condition=Ready", "vm/pool", "vm/single")
	if out, err := s.try("", "patch", "vm", "single", "--type=merge", "-p", `{"spec":{"updatePolicy":{"maxUnavailable":"none"}}}`); err == nil || !strings.Contains(out, "want a number from 1 on") {
		t.Errorf("nonsense was taken: %v\n%s", err, out)
	}
}
