package pvesim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/proxplane/proxplane/test/kit/chance"
)

// referenced lists the volumes that the config of VM 100 names, anywhere.
func (l *lab) referenced() []string {
	set := map[string]bool{}
	l.sim.Do(func(s *State) {
		vm := s.VMs[100]
		for _, c := range []Conf{vm.Conf, vm.Pending} {
			for _, d := range append(c.drives(), c.unused()...) {
				if storage, name, ok := splitVolID(d.volume); ok && storage != "" && strings.Contains(name, "100") {
					set[d.volume] = true
				}
			}
		}
	})
	return sortedKeys(set)
}

// existing lists the volumes of VM 100.
func (l *lab) existing() (list []string) {
	l.sim.Do(func(*State) { list = l.existingLocked() })
	return list
}

func (l *lab) existingLocked() (list []string) {
	for _, storage := range []string{"local", "thin"} {
		for _, name := range sortedKeys(l.sim.space(storage, "pve1").ofVM(100)) {
			list = append(list, storage+":"+name)
		}
	}
	return list
}

func TestNoChangeLosesOrForgetsAVolume(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		slot := rapid.SampledFrom([]string{"scsi1", "scsi2", "virtio0", "virtio1", "ide0", "sata1", "efidisk0", "tpmstate0"})
		// Not t itself: its deadline isn't of the virtual time.
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
			l.sim.Do(func(s *State) { // what a failed run left
				delete(s.VMs, 100)
				for _, volid := range l.existingLocked() {
					(&actor{Sim: l.sim}).abandon("pve1", volid)
				}
			})
			l.create("scsihw", "virtio-scsi-pci", "scsi0", "local:0,import-from=local:import/os.qcow2", "boot", "order=scsi0")
			for range rapid.IntRange(1, 12).Draw(rt, "steps") {
				key := slot.Draw(rt, "slot")
				var change []string
				switch rapid.IntRange(0, 9).Draw(rt, "what") {
				case 0, 1, 2:
					change = []string{key, rapid.SampledFrom([]string{"local:1", "thin:1", "local:1,format=qcow2"}).Draw(rt, "disk")}
				case 3:
					change = []string{"delete", key}
				case 4:
					change = []string{"delete", key, "force", "1"}
				case 5:
					change = []string{"revert", key}
				case 6:
					unused := fmt.Sprintf("unused%d", rapid.IntRange(0, 2).Draw(rt, "unused"))
					change = []string{"delete", unused}
					if volid, ok := l.config()[unused].(string); ok && rapid.Bool().Draw(rt, "attach") {
						change = []string{key, volid}
					}
				case 7:
					change = []string{key, rapid.SampledFrom([]string{"local:100/vm-100-disk-99.raw", "local:1,cache=none", "thin:9999999"}).Draw(rt, "odd")}
				case 8:
					change = []string{"ide2", rapid.SampledFrom([]string{"local:cloudinit", "none"}).Draw(rt, "cd")}
				case 9:
					how := rapid.SampledFrom([]string{"start", "stop"}).Draw(rt, "power")
					l.ended(l.must("POST", labVM+"/status/"+how))
					continue
				}
				if item := l.pending(key); change[0] == "delete" && item["value"] != nil && item["pending"] != nil {
					// Proxmox forgets the volume that waits for its turn.
					change = []string{"revert", key}
				}
				r := l.put(labVM+"/config", change...)
				if have, want := l.existing(), l.referenced(); !slices.Equal(have, want) {
					rt.Fatalf("after %v (%d %s %v): there are %v, the config names %v", change, r.status, r.reason, r.errors, have, want)
				}
			}
			l.ended(l.must("POST", labVM+"/status/stop"))
			l.run("DELETE", labVM)
			if left := l.existing(); len(left) > 0 {
				rt.Fatalf("%v left", left)
			}
		})
	})
}
