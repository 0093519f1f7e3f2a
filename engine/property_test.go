package engine_test

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	_ "github.com/proxplane/proxplane/test/kit/chance"
)

var (
	faultPaths = []string{
		"/nodes/*/qemu/*/clone", "/nodes/*/qemu/*/config", "/nodes/*/qemu/*/resize", "/nodes/*/qemu/*/status/*", "/nodes/*/qemu/*",
		"/nodes/*/storage/*/upload", "/nodes/*/storage/**", "/nodes/*/tasks/**", "/nodes/*/qemu/*/pending", "/nodes/*/qemu/*/agent/*", "/cluster/*", "/**",
	}
	faultTasks = []string{"qmclone", "qmstart", "resize", "qmstop", "qmdestroy", "imgcopy", "imgdel", "qmconfig", "*"}
)

// anyFault is something that goes wrong a few times.
func anyFault(t *rapid.T) pvesim.Fault {
	f := pvesim.Fault{Times: rapid.IntRange(1, 3).Draw(t, "times")}
	if rapid.Bool().Draw(t, "now and then") {
		f.Probability = 0.3
	}
	if rapid.Bool().Draw(t, "of tasks") {
		f.Task = rapid.SampledFrom(faultTasks).Draw(t, "task")
		f.Mode = rapid.SampledFrom([]string{"instead", "after"}).Draw(t, "mode")
		f.Error = rapid.SampledFrom([]string{"broken pipe", "can't lock file '/var/lock/pve-manager/pve-storage-local-lvm' - got timeout", ""}).Draw(t, "error")
		return f
	}
	f.Path = rapid.SampledFrom(faultPaths).Draw(t, "path")
	f.Method = rapid.SampledFrom([]string{"", "GET", "POST", "PUT", "DELETE"}).Draw(t, "method")
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0:
		f.Drop = "before"
	case 1:
		f.Drop = "after"
	case 2:
		f.Status, f.Reason = 596, "Connection timed out"
	case 3:
		f.Hold, f.For = "config", ms(rapid.IntRange(1, 30000).Draw(t, "for"))
	case 4:
		f.Away, f.For = rapid.SampledFrom([]string{"pve1", "pve2"}).Draw(t, "node"), ms(rapid.IntRange(1, 60000).Draw(t, "for"))
	case 5:
		f.Delay = ms(rapid.IntRange(1, 40000).Draw(t, "delay"))
	}
	return f
}

// anyWish is a machine at some time of its life.
func anyWish(t *rapid.T, name string) model.VM {
	vm := machine(name)
	if rapid.Bool().Draw(t, "with first-boot data") {
		vm = seeded(name)
	}
	vm.Options["memory"] = rapid.SampledFrom([]string{"2048", "4096"}).Draw(t, "memory")
	if rapid.IntRange(0, 3).Draw(t, "off") == 0 {
		vm.Power, vm.WaitAddress = model.PowerOff, false
	}
	vm.Deleted = rapid.IntRange(0, 4).Draw(t, "deleted") == 0
	vm.Update = model.Allow{Restart: true}
	return vm
}

// Whatever goes wrong, and whenever the process dies: when things are well again,
// all becomes up to date, each machine is there once, and nothing is left behind.
func TestAllIsUpToDateInTheEndWhateverGoesWrong(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"web", "db", "lb"}[:rapid.IntRange(1, 3).Draw(rt, "machines")]
		faults := rapid.SliceOfN(rapid.Custom(anyFault), 0, 4).Draw(rt, "faults")
		var wishes []model.Desired
		for range rapid.IntRange(1, 3).Draw(rt, "wishes") {
			var vms []model.VM
			for _, name := range names {
				vms = append(vms, anyWish(rt, name))
			}
			wishes = append(wishes, desired(vms...))
		}
		die := rapid.IntRange(0, 60).Draw(rt, "dies at request")
		after := rapid.Bool().Draw(rt, "dies after it was done")

		inLab(t, labWorld(2), func(t *testing.T, l *lab) {
			for _, f := range faults {
				l.fault(f)
			}
			for i, want := range wishes {
				if i == len(wishes)-1 && die > 0 {
					l.dieAt(want, die, after)
				}
				rep, err := l.engine().Converge(context.Background(), want, l.options())
				if err == nil {
					for _, o := range rep.Objects {
						if o.State != model.StateReady && o.State != model.StateGone && o.Text == "" {
							t.Errorf("%s isn't ready and doesn't say why", o.Owner.Key)
						}
					}
				}
			}
			l.sim.RemoveFault(0)
			time.Sleep(2 * time.Minute) // until nodes are back and locks are free
			want := wishes[len(wishes)-1]
			l.mustConverge(want)
			l.check(want)
			if t.Failed() {
				t.Logf("%s", l.story())
			}
		})
		if t.Failed() {
			rt.FailNow()
		}
	})
}
