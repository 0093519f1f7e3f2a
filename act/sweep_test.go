package act_test

import (
	"slices"
	"testing"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

func TestWhatAFailedCopyHasLeftIsRemoved(t *testing.T) {
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
		alloc(555, "vm-555-disk-0.qcow2") // somebody has kept it
		alloc(555, "vm-555-cloudinit.qcow2")
		time.Sleep(time.Minute)
		since := time.Now()
		alloc(555, "vm-555-disk-1.qcow2")
		alloc(100, "vm-100-disk-9.qcow2")
		before := volumes(100)

		for _, left := range []act.Left{
			{Node: "pve1", VMID: 555, Since: since},
			{Node: "pve1", VMID: 100, Since: since}, // there is a guest with that VMID
			{Node: "pve1", VMID: 100, Volumes: before},
		} {
			if _, err := l.actor.Sweep(t.Context(), left); err != nil {
				t.Fatal(err)
			}
		}
		if got := volumes(555); !slices.Equal(got, []string{"local:555/vm-555-disk-0.qcow2"}) {
			t.Errorf("of 555 there is %v", got)
		}
		if got := volumes(100); !slices.Equal(got, before) {
			t.Errorf("of 100 there is %v, and was %v", got, before)
		}
	})
}

func TestTasksThatMayHaveLeftDisksAreKnown(t *testing.T) {
	const task = "UPID:pve1:000003E9:00057E63:386D4380:qmclone:9000:root@pam:"
	failed := &pve.TaskError{ExitStatus: "interrupted by signal"}
	to := model.Target{VMID: 555, Node: "pve2"}
	warned := []string{"Could not remove disk 'nfs:5/vm-5-disk-0.raw', check manually: x"}
	for _, c := range []struct {
		action   model.Action
		warnings []string
		err      error
		left     bool
		reason   string
	}{
		{model.Clone{To: to}, nil, failed, true, "a copy that failed"},
		{model.Create{Target: to}, nil, failed, true, "a creation that failed"},
		{model.Clone{To: to}, nil, &pve.TaskError{ExitStatus: "no space left on device"}, false, "one that could clean up"},
		{model.Clone{To: to}, nil, nil, false, "a copy that is there"},
		{model.Clone{To: to}, nil, &pve.Error{Kind: pve.ErrConnection}, false, "nobody knows whether it has ended"},
		{model.Destroy{Target: to}, warned, nil, true, "a destruction that says what it has left"},
		{model.Destroy{Target: to}, []string{"something else"}, nil, false, "a warning about something else"},
		{model.Destroy{Target: to}, nil, failed, false, "a destruction that failed"},
		{model.Destroy{Target: to}, nil, &pve.TaskError{Log: []string{"WARN: " + warned[0]}}, true, "one that says so, and has left a disk"},
		{model.Start{Target: to}, warned, failed, false, "it makes no disks"},
	} {
		got := act.LeftBy(c.action, task, c.warnings, c.err)
		if (got != nil) != c.left || got != nil && (got.VMID != 555 || got.Node != "pve2") {
			t.Errorf("%s: %+v", c.reason, got)
		}
	}
	const other = "UPID:pve2:000003E9:00057E63:386D4380:qmdestroy:555:root@pam:"
	if got := act.LeftByAny(other, warned); got == nil || got.VMID != 555 || got.Node != "pve2" || len(got.Volumes) != 1 {
		t.Errorf("somebody else's destruction: %+v", got)
	}
	if got := act.LeftByAny(task, warned); got != nil {
		t.Errorf("somebody else's copy: %+v", got)
	}
}
