package operator_test

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pvesim"
)

// Disks that Proxmox leaves when it can't get the lock of their storage go, also when the operator is
// killed before it has seen to that; the log says which.
func TestDisksThatProxmoxHasLeftGo(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.env = []string{"LOG_LEVEL=info"}
	first := s.operate("--alone")
	s.provide()
	s.apply(machine("web", "deletionGracePeriodSeconds: 0") + machine("db"))
	s.waitFor("--for=condition=Ready", "vm/web", "vm/db")
	storage, _, _ := strings.Cut(s.conf("web", "scsi0"), ":")
	disks := "vm-" + s.field("vm/web", ".status.vmid") + "-"
	_, err := s.pve.AddFault(pvesim.Fault{Method: "DELETE", Path: "/nodes/*/qemu/*", Times: 1, Hold: "storage:" + storage, For: pvesim.Duration(12 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	refused, err := s.pve.AddFault(pvesim.Fault{Method: "DELETE", Path: "/nodes/*/storage/**", Status: 500, Reason: "not now"}) // the first one would remove them at once
	if err != nil {
		t.Fatal(err)
	}
	s.kubectl("delete", "vm", "web", "--wait=false")
	s.until("the machine is destroyed", func() bool { return s.machines() == "db" })
	first.Kill()
	s.pve.RemoveFault(refused)
	disk := s.volume(disks)
	if disk == "" {
		t.Fatal("Proxmox has left no disk")
	}
	second := s.operate("--alone")
	s.until("the disk is gone", func() bool { return s.volume(disks) == "" })
	s.waitFor("--for=delete", "vm/web")
	s.until("the log tells it", func() bool {
		return strings.Contains(second.Log(), "disks that Proxmox has left") && strings.Contains(second.Log(), disk)
	})
	if s.machines() != "db" {
		t.Errorf("there is %s", s.machines())
	}
}

// volume is the name of a file on a storage that begins so; empty: there is none.
func (s *story) volume(prefix string) (name string) {
	s.pve.Do(func(st *pvesim.State) {
		for _, space := range st.Spaces {
			for volume := range space.Volumes {
				if strings.HasPrefix(path.Base(volume), prefix) {
					name = path.Base(volume)
				}
			}
		}
	})
	return name
}
