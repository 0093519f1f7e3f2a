package pvesim

import (
	"slices"
	"testing"
)

func TestDestroyRemovesAllThatIsTheVMs(t *testing.T) {
	bothReleases(t, func(t *testing.T, l *lab) {
		l.run("POST", "/nodes/pve1/qemu", "vmid", "101", "scsi0", "local:1")
		l.create("scsi0", "local:1,format=qcow2", "ide2", "local:cloudinit", "ide3", "local:iso/tiny.iso,media=cdrom",
			"scsi1", "local:101/vm-101-disk-0.raw", "scsi2", "thin:1", "pool", "team")
		l.set("delete", "scsi2")
		l.must("PUT", "/access/acl", "path", "/vms/100", "roles", "PVEAuditor", "users", "ann@pve")
		l.must("POST", "/nodes/pve1/storage/thin/content", "vmid", "100", "filename", "vm-100-disk-9", "size", "1G")
		l.must("POST", labVM+"/firewall/rules", "type", "in", "action", "ACCEPT")
		log := l.run("DELETE", labVM, "purge", "1")
		if !slices.Contains(log, "purging VM 100 from related configurations..") {
			t.Errorf("log %q", log)
		}
		if got := l.volumes("local") + l.volumes("thin"); got != "vm-100-disk-9" {
			t.Errorf("volumes left: %s", got)
		}
		l.sim.Do(func(s *State) {
			if v, _ := l.sim.volume("pve1", "local:101/vm-101-disk-0.raw"); v == nil {
				t.Error("another VM's disk is gone")
			}
			if v, _ := l.sim.volume("pve1", "local:iso/tiny.iso"); v == nil {
				t.Error("the ISO is gone")
			}
			if l.sim.poolOf(100) != "" || len(s.Access.ACL) != 0 || s.Firewall.Files["vm/100"] != nil {
				t.Errorf("pool %q, ACL %v, rules %v", l.sim.poolOf(100), s.Access.ACL, s.Firewall.Files)
			}
		})
		l.create()
		l.run("DELETE", labVM, "destroy-unreferenced-disks", "1")
		if got := l.volumes("thin"); got != "" {
			t.Errorf("volumes left: %s", got)
		}
	})
}

func TestSomeVMsAreNotDestroyed(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1", "protection", "1")
		l.expect(l.delete(labVM), 500, "can't remove VM 100 - protection mode enabled")
		l.set("delete", "protection")
		l.must("POST", "/cluster/ha/resources", "sid", "vm:100", "state", "ignored")
		l.expect(l.delete(labVM), 500, "unable to remove VM 100 - used in HA resources and purge parameter not set.")
		l.must("DELETE", "/cluster/ha/resources/vm:100")
		l.start()
		l.expect(l.delete(labVM, "purge", "1"), 500, "VM 100 is running - destroy failed")
		l.run("POST", labVM+"/status/stop")
		l.set("lock", "migrate")
		l.fails("VM is locked (migrate)", "DELETE", labVM)
		l.set("delete", "lock", "skiplock", "1")
		l.run("POST", labVM+"/template")
		l.run("POST", labVM+"/clone", "newid", "101")
		l.fails("base volume 'local:100/base-100-disk-0.raw' is still in use by linked cloned", "DELETE", labVM)
		l.run("DELETE", "/nodes/pve1/qemu/101")
		l.run("DELETE", labVM)
		l.expect(l.delete(labVM), 500, "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist")
	})
}

func TestAPurgedVMLeavesTheHighAvailabilityManager(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create()
		l.must("POST", "/cluster/ha/resources", "sid", "vm:100", "state", "stopped")
		log := l.run("DELETE", labVM, "purge", "1")
		if !slices.Contains(log, "NOTE: removed VM 100 from HA resource configuration.") {
			t.Errorf("log %q", log)
		}
		l.sim.Do(func(s *State) {
			if len(s.HA.Resources) != 0 {
				t.Errorf("HA resources %v", s.HA.Resources)
			}
		})
	})
}
