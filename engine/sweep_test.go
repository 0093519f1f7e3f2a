package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/pvesim"
)

// Who is stopped while disks are still to be removed is told which: nothing in
// Proxmox names them any more.
func TestDisksThatAreLeftWhenWeAreStoppedAreNamed(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := machine("web")
		l.mustConverge(desired(vm))
		l.fault(pvesim.Fault{Method: "DELETE", Path: "/nodes/*/qemu/*", Hold: "storage:local-lvm", For: ms(10 * 60_000)})
		vm.Deleted = true
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		var said []string
		opts := l.options()
		opts.Events = func(e engine.Event) {
			if e.Kind == engine.Failed && e.Action == engine.Sweep {
				said = append(said, e.Text)
			}
		}
		if _, err := l.engine().Converge(ctx, desired(vm), opts); err == nil {
			t.Fatal("it wasn't stopped")
		}
		if len(l.ours()) > 0 || len(said) != 1 || !strings.Contains(said[0], "local-lvm:vm-") {
			t.Errorf("machines %v, said %q", l.ours(), said)
		}
	})
}
