package pvesim

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestClonesSayThatTheyWaitForTheirStorage(t *testing.T) {
	for storage, want := range map[string][]string{
		"local": {"trying to acquire lock...", " OK"},
		"nas":   {"trying to acquire cfs lock 'storage-nas' ...", "trying to acquire cfs lock 'storage-nas' ...", "trying to acquire cfs lock 'storage-nas' ..."},
	} {
		w := depotWorld("9.2")
		w.Locks.Storage = 2
		w.Timing.Link = Duration(3 * time.Second)
		inDepot(t, w, func(t *testing.T, l *lab) {
			l.run("POST", "/nodes/pve1/qemu", "vmid", "100", "scsi0", storage+":1,format=qcow2")
			l.run("POST", labVM+"/template")
			var tasks []any
			for i := range 3 {
				tasks = append(tasks, l.must("POST", labVM+"/clone", "newid", fmt.Sprint(101+i)))
			}
			begun := time.Now()
			for i, upid := range tasks {
				exit, log := l.ended(upid)
				if exit != "OK" {
					t.Errorf("%s: clone %d ended with %q", storage, i, exit)
				}
				at := slices.IndexFunc(log, func(line string) bool { return line == want[0] })
				switch {
				case i < 2 && at >= 0:
					t.Errorf("%s: clone %d waited though there was room: %q", storage, i, log)
				case i == 2 && (at < 0 || !slices.Equal(log[at:min(at+len(want), len(log))], want)):
					t.Errorf("%s: log %q, want %q in it", storage, log, want)
				}
			}
			if took := time.Since(begun); took != 6*time.Second {
				t.Errorf("%s: three clones of 3 s took %v, two at a time", storage, took)
			}
		})
	}
}
