package leftover_test

import (
	"testing"

	"github.com/proxplane/proxplane/leftover"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

func TestTasksThatMayHaveLeftDisksAreKnown(t *testing.T) {
	const task = "UPID:pve1:000003E9:00057E63:386D4380:qmclone:9000:root@pam:"
	failed := &pve.TaskError{ExitStatus: "interrupted by signal"}
	to := model.Target{VMID: 555, Node: "pve2"}
	warned := []string{"Could not remove disk 'nfs:5/vm-5-disk-0.raw', check manually: x"}
	blocked := func(volume string) error {
		return &pve.TaskError{ExitStatus: "migration aborted", Log: []string{"ERROR: migration aborted (duration 00:00:02): volume '" + volume + "' already exists"}}
	}
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
		{model.Migrate{Target: model.Target{VMID: 555, Node: "pve1"}, To: "pve2"}, nil, blocked("lvm:vm-555-cloudinit"), true, "the cloud-init volume of an earlier guest is in the way"},
		{model.Migrate{Target: model.Target{VMID: 555, Node: "pve1"}, To: "pve2"}, nil, blocked("local:555/vm-555-cloudinit.qcow2"), true, "the same on a storage with files"},
		{model.Migrate{Target: model.Target{VMID: 555, Node: "pve1"}, To: "pve2"}, nil, blocked("lvm:vm-555-state-x"), false, "something else is in the way, which may be worth keeping"},
		{model.Migrate{Target: model.Target{VMID: 555, Node: "pve1"}, To: "pve2"}, nil, failed, false, "nothing is in the way"},
		{model.Start{Target: to}, warned, failed, false, "it makes no disks"},
	} {
		got := leftover.By(c.action, task, c.warnings, c.err)
		if (got != nil) != c.left || got != nil && (got.VMID != 555 || got.Node != "pve2") {
			t.Errorf("%s: %+v", c.reason, got)
		}
	}
	const other = "UPID:pve2:000003E9:00057E63:386D4380:qmdestroy:555:root@pam:"
	if got := leftover.ByOthers(other, warned); got == nil || got.VMID != 555 || got.Node != "pve2" || len(got.Volumes) != 1 {
		t.Errorf("somebody else's destruction: %+v", got)
	}
	if got := leftover.ByOthers(task, warned); got != nil {
		t.Errorf("somebody else's copy: %+v", got)
	}
}
