package cli

import (
	"context"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

func TestDoctorNamesDisksThatProxmoxHasLeft(t *testing.T) {
	l := ownLab(t)
	client := l.client()
	ctx := context.Background()
	wait := func(upid pve.UPID, err error) {
		t.Helper()
		if err == nil {
			_, err = client.Task(upid).Wait(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	wait(client.Node("pve1").Create(ctx, pve.CreateOptions{ID: 7000, Settings: pve.Settings{"scsi0": "local:1"}}))
	held := pvesim.Fault{Method: "DELETE", Path: "/nodes/*/qemu/7000", Times: 1, Hold: "storage:local", For: pvesim.Duration(90 * time.Second)}
	if _, err := l.sim.AddFault(held); err != nil {
		t.Fatal(err)
	}
	wait(client.VM("pve1", 7000).Destroy(ctx, pve.DestroyOptions{}))
	wantText(t, l.must("doctor"),
		`^  ! Proxmox couldn't remove local:7000/vm-7000-disk-0\.\S+ on pve1 when VM 7000 was destroyed, and no machine uses it$`,
		`^    To remove it, on pve1: pvesm free local:7000/vm-7000-disk-0\.\S+$`)
}
