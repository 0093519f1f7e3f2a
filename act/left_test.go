package act_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

func TestOnlyDisksThatNoGuestHasAreRemoved(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		alloc := func(vmid int, name string) {
			t.Helper()
			if _, err := l.client.Storage("pve1", "local").Alloc(t.Context(), pve.AllocOptions{VMID: vmid, Filename: name, Size: "1G", Format: "qcow2"}); err != nil {
				t.Fatal(err)
			}
		}
		volumes := func(vmid int) (names []string) {
			t.Helper()
			list, err := l.client.Storage("pve1", "local").Content(t.Context(), pve.ContentFilter{VMID: vmid})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range list {
				names = append(names, v.ID)
			}
			return names
		}
		const kept, drive, half = "local:555/vm-555-disk-0.qcow2", "local:555/vm-555-cloudinit.qcow2", "local:555/vm-555-disk-1.qcow2"
		alloc(555, "vm-555-disk-0.qcow2") // somebody has kept it
		alloc(555, "vm-555-cloudinit.qcow2")
		time.Sleep(time.Minute)
		since := time.Now()
		alloc(555, "vm-555-disk-1.qcow2")
		alloc(100, "vm-100-disk-9.qcow2")
		before := volumes(100)
		copied := model.Left{Node: "pve1", VMID: 555, Since: since, Watched: true}
		for _, c := range []struct {
			reason string
			left   model.Left
			volume string
			want   error
		}{
			{"it was made since", copied, half, nil},
			{"nothing is on a cloud-init drive", copied, drive, nil},
			{"it is older than the copy", copied, kept, nil}, // and isn't touched
			{"a guest has the VMID", model.Left{Node: "pve1", VMID: 100, Since: since, Watched: true}, "local:100/vm-100-disk-9.qcow2", act.ErrKept},
			{"a guest has the VMID that was destroyed", model.Left{Node: "pve1", VMID: 100, Volumes: before, Watched: true}, before[0], act.ErrKept},
			{"our guest has it in its config", model.Left{Node: "pve1", VMID: 100, Volumes: before, Moved: true, Ended: time.Now()}, "local:100/vm-100-disk-0.raw", act.ErrKept},
			{"it was moved away from", model.Left{Node: "pve1", VMID: 100, Volumes: before, Moved: true, Ended: time.Now()}, "local:100/vm-100-disk-9.qcow2", nil},
		} {
			if err := l.do(model.RemoveDisk{Left: c.left, Volume: c.volume}); !errors.Is(err, c.want) || err != nil && act.Judge(err).Class != act.Mistaken {
				t.Errorf("%s: %v", c.reason, err)
			}
		}
		if got := volumes(555); !slices.Equal(got, []string{kept}) {
			t.Errorf("of 555 there is %v", got)
		}
		if got := volumes(100); !slices.Equal(got, []string{"local:100/vm-100-disk-0.raw"}) {
			t.Errorf("of 100 there is %v, and was %v", got, before)
		}
	})
}
