package engine_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/access"
	"github.com/proxplane/proxplane/test/kit/inspect"
)

// leave has a process end while Proxmox couldn't remove the disks of a machine, and
// tells which machine that was.
func (l *lab) leave(by *pve.Client) (vmid int) {
	l.t.Helper()
	vm := machine("web")
	l.mustConverge(desired(vm))
	for id := range l.ours() {
		vmid = id
	}
	l.fault(pvesim.Fault{Method: "DELETE", Path: "/nodes/*/qemu/*", Times: 1, Hold: "storage:local-lvm", For: ms(90_000)})
	vm.Deleted = true
	ctx, cancel := context.WithTimeout(l.t.Context(), 70*time.Second)
	defer cancel()
	if _, err := engineOf(by).Converge(ctx, desired(vm), engine.Options{}); err == nil {
		l.t.Fatal("it wasn't stopped")
	}
	if len(l.ours()) > 0 || len(l.volumes(vmid)) != 2 {
		l.t.Fatalf("machines %v, disks %v", l.ours(), l.volumes(vmid))
	}
	time.Sleep(2 * time.Minute)
	return vmid
}

// volumes are the disks with a VMID.
func (l *lab) volumes(vmid int) (names []string) {
	l.sim.Do(func(s *pvesim.State) {
		for name, v := range inspect.Volumes(s) {
			if v.VMID == vmid {
				names = append(names, name)
			}
		}
	})
	slices.Sort(names)
	return names
}

func TestWhatProxmoxHasLeftIsRemovedByTheNextProcess(t *testing.T) {
	for _, c := range []struct {
		reason string
		before func(l *lab, vmid int)
		want   func(vmid int) model.Desired
		left   int // disks
	}{
		{reason: "nobody has touched it"},
		{
			reason: "there were many tasks since, so that the lists don't show it",
			before: func(l *lab, _ int) {
				for range 30 {
					upid, err := l.client.Node("pve1").Create(l.t.Context(), pve.CreateOptions{ID: 7000})
					if err != nil {
						l.t.Fatal(err)
					}
					_, _ = l.client.Task(upid).Wait(l.t.Context())
					if upid, err = l.client.VM("pve1", 7000).Destroy(l.t.Context(), pve.DestroyOptions{}); err != nil {
						l.t.Fatal(err)
					}
					_, _ = l.client.Task(upid).Wait(l.t.Context())
				}
			},
		},
		{
			reason: "its machine is wanted again, and gets other disks beside it",
			want:   func(int) model.Desired { return desired(machine("web")) },
			left:   2,
		},
		{
			reason: "somebody has attached it to another machine",
			before: func(l *lab, vmid int) {
				_, err := l.root().Node("pve1").Create(l.t.Context(), pve.CreateOptions{
					ID: 7000, Settings: pve.Settings{"scsi1": "local-lvm:vm-" + strconv.Itoa(vmid) + "-disk-0"},
				})
				if err != nil {
					l.t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
			},
			left: 1,
		},
		{
			reason: "somebody else has the VMID now",
			before: func(l *lab, vmid int) {
				if _, err := l.root().Node("pve1").Create(l.t.Context(), pve.CreateOptions{ID: vmid}); err != nil {
					l.t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
			},
			left: 2,
		},
		{
			reason: "it was left the day before yesterday",
			before: func(*lab, int) { time.Sleep(48 * time.Hour) },
			left:   2,
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			inLab(t, labWorld(1), func(t *testing.T, l *lab) {
				vmid := l.leave(l.client)
				if c.before != nil {
					c.before(l, vmid)
				}
				want := model.Desired{}
				if c.want != nil {
					want = c.want(vmid)
				}
				l.mustConverge(want)
				if got := l.volumes(vmid); len(got) != c.left {
					t.Errorf("there are %v", got)
				}
			})
		})
	}
}

// Who logs in with a password has tasks that a person may have begun.
func TestWhatAPersonMayHaveLeftStays(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vmid := l.leave(l.root())
		for _, next := range []*pve.Client{l.root(), l.client} {
			if _, err := engineOf(next).Converge(t.Context(), model.Desired{}, l.options()); err != nil {
				t.Fatal(err)
			}
		}
		if got := l.volumes(vmid); len(got) != 2 {
			t.Errorf("there are %v", got)
		}
	})
}

// root is logged in with a password.
func (l *lab) root() *pve.Client { return l.connect(pve.Password("root@pam", "secret")) }

// A guest that we may not see can have found the disk as well.
func TestWhatAGuestOfOthersMayUseStays(t *testing.T) {
	w := labWorld(1)
	w.Users = append(w.Users, pvesim.WorldUser{ID: "ann@pve", Tokens: []pvesim.WorldToken{{Name: "lab", Secret: secret}}})
	w.ACL = []pvesim.WorldACL{{Path: "/", Role: "Administrator", User: "ann@pve"}}
	inLab(t, w, func(t *testing.T, l *lab) {
		l.client = l.connect(pve.Token("ann@pve!lab", secret))
		vmid := l.leave(l.client)
		if _, err := l.root().Node("pve1").Create(t.Context(), pve.CreateOptions{ID: vmid}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		l.sim.Do(func(s *pvesim.State) {
			s.Access.ACL = append(s.Access.ACL, access.Entry{Path: "/vms/" + strconv.Itoa(vmid), Kind: "user", Who: "ann@pve", Role: "NoAccess"})
		})
		l.mustConverge(model.Desired{})
		if got := l.volumes(vmid); len(got) != 2 {
			t.Errorf("there are %v", got)
		}
	})
}
