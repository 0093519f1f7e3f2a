package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// failedClones are the clones that didn't work out.
func (l *lab) failedClones() (failed []string) {
	for _, e := range l.events {
		if e.Kind == "failed" {
			failed = append(failed, e.Step+": "+e.Text)
		}
	}
	return failed
}

// Proxmox calls a VM a template before its disks are those of one. Whoever copies it then fails.
func TestClonesWaitUntilTheImageIsATemplateIndeed(t *testing.T) {
	url, checksum := library(t)
	for _, takes := range []int{3000, 40000} {
		w := labWorld(2)
		w.Timing.Template = ms(takes)
		inLab(t, w, func(t *testing.T, l *lab) {
			want := model.Desired{Set: "test", Images: []model.Image{fetched(url, checksum)}}
			for _, name := range []string{"a", "b"} {
				vm := machine(name)
				vm.Source = model.Source{Image: key("VMImage", "noble")}
				vm.Disks, vm.WaitAddress = nil, false
				want.VMs = append(want.VMs, vm)
			}
			l.mustConverge(want)
			if failed := l.failedClones(); len(failed) > 0 {
				t.Errorf("%d ms: %s", takes, strings.Join(failed, "\n"))
			}
		})
	}
}

// A template whose making ended halfway is finished: it is called a template, and its disks
// aren't those of one.
func TestATemplateThatWasHalfMadeIsFinished(t *testing.T) {
	url, checksum := library(t)
	w := labWorld(1)
	w.Timing.Template = ms(20000)
	inLab(t, w, func(t *testing.T, l *lab) {
		vm := machine("web")
		vm.Source = model.Source{Image: key("VMImage", "noble")}
		vm.Disks, vm.WaitAddress = nil, false
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for t.Context().Err() == nil {
				time.Sleep(time.Second)
				tasks, _, _ := l.client.Node("pve1").Tasks(context.Background(), pve.TaskFilter{Type: "qmtemplate", Source: "active"})
				for _, running := range tasks {
					if err := l.client.Task(running.UPID).Stop(context.Background()); err == nil {
						return
					}
				}
			}
		}()
		l.mustConverge(model.Desired{Set: "test", Images: []model.Image{fetched(url, checksum)}, VMs: []model.VM{vm}})
		<-stopped
		if !strings.Contains(l.story(), "make scsi0 of VM") {
			t.Error(l.story())
		}
	})
}

// So does somebody who makes a template by hand, or a process that was killed.
func TestClonesWaitForATemplateThatSomebodyElseMakes(t *testing.T) {
	w := labWorld(1)
	w.Timing.Template = ms(20000)
	w.Guests = w.Guests[:0]
	w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 9000, Node: "pve1", System: pvesim.WithAgent, Config: map[string]string{
		"name": "ubuntu", "agent": "enabled=1", "scsi0": "local:8,format=qcow2", "net0": "virtio,bridge=vmbr0", "boot": "order=scsi0",
	}})
	inLab(t, w, func(t *testing.T, l *lab) {
		if _, err := l.client.VM("pve1", 9000).Template(context.Background(), ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(12 * time.Second) // the lists show it as a template
		l.mustConverge(desired(machine("web")))
		if failed := l.failedClones(); len(failed) > 0 {
			t.Error(strings.Join(failed, "\n"))
		}
	})
}

// A template with a disk that can't be a base volume can be copied in full only.
func TestTemplatesOnThickVolumesAreCopiedInFull(t *testing.T) {
	w := labWorld(1)
	w.Storages = append(w.Storages, pvesim.WorldStorage{Name: "thick", Type: "lvm", Size: 1 << 40, Content: []string{"images"}, Options: map[string]string{"vgname": "thick"}})
	w.Guests = []pvesim.WorldGuest{{ID: 9000, Node: "pve1", System: pvesim.WithAgent, Config: map[string]string{
		"name": "ubuntu", "agent": "enabled=1", "scsi0": "thick:8", "net0": "virtio,bridge=vmbr0", "boot": "order=scsi0",
	}}}
	inLab(t, w, func(t *testing.T, l *lab) {
		if _, err := l.client.VM("pve1", 9000).Template(context.Background(), ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(12 * time.Second)
		l.mustConverge(desired(machine("web")))
		if scsi := l.named("web")["scsi0"]; !strings.HasPrefix(scsi, "thick:vm-") {
			t.Errorf("scsi0: %s", scsi)
		}
	})
}
