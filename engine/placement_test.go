package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// A run ends while Proxmox makes a guest, which comes to nothing and isn't wanted any more: its VMID is free for the next run of the
// same process, as it is for any other process.
func TestTheVMIDOfAGuestThatCameToNothingIsFree(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		only := model.Range{First: 5000, Last: 5000}
		one, two := machine("one"), machine("two")
		one.Range, two.Range = only, only
		if _, err := l.sim.AddFault(pvesim.Fault{Task: "qmclone", Error: "no space left on device", Times: 1}); err != nil {
			t.Fatal(err)
		}
		e := l.engine()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // in the middle of the clone
		defer cancel()
		if rep, err := e.Converge(ctx, desired(one), l.options()); err == nil {
			t.Fatalf("it wasn't interrupted:\n%s", describe(rep))
		}
		time.Sleep(time.Minute)
		converge(t, e, desired(two))
		l.check(desired(two))
	})
}
