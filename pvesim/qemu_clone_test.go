package pvesim

import (
	"strings"
	"testing"
	"time"
)

const clonePath = "/nodes/pve1/qemu/200"

func (l *lab) configOf(path string) map[string]any {
	l.t.Helper()
	return l.must("GET", path+"/config").(map[string]any)
}

func TestACloneHasItsOwnIdentity(t *testing.T) {
	bothReleases(t, func(t *testing.T, l *lab) {
		l.create("name", "web", "scsi0", "local:1,format=qcow2", "net0", "virtio,bridge=vmbr0,firewall=1", "tags", "b;a",
			"ide2", "local:iso/tiny.iso,media=cdrom", "ide0", "local:cloudinit", "smbios1", "uuid=00000000-0000-4000-8000-000000000000,serial=x",
			"ciuser", "ann")
		l.set("scsi1", "local:1")
		l.set("delete", "scsi1")
		l.must("PUT", labVM+"/firewall/options", "enable", "1")
		l.run("POST", labVM+"/clone", "newid", "200", "description", "a copy", "pool", "team")
		from, to := l.config(), l.configOf(clonePath)
		for _, key := range []string{"net0", "smbios1", "vmgenid"} {
			if to[key] == from[key] || to[key] == nil {
				t.Errorf("%s is %v", key, to[key])
			}
		}
		if !strings.HasSuffix(to["net0"].(string), ",bridge=vmbr0,firewall=1") || !strings.HasPrefix(to["smbios1"].(string), "uuid=") && !strings.Contains(to["smbios1"].(string), "serial=x") {
			t.Errorf("net0 %v, smbios1 %v", to["net0"], to["smbios1"])
		}
		want := map[string]any{
			"name": "Copy-of-VM-web", "tags": "a;b", "description": "a copy", "unused0": nil, "ide2": from["ide2"], "ciuser": "ann", "lock": nil,
			"scsi0": "local:200/vm-200-disk-0.qcow2,size=1G", "ide0": "local:200/vm-200-cloudinit.qcow2,media=cdrom,size=4M",
		}
		for key, value := range want {
			if to[key] != value {
				t.Errorf("%s is %#v, want %#v", key, to[key], value)
			}
		}
		if opts := l.must("GET", clonePath+"/firewall/options").(map[string]any); opts["enable"] != 1.0 {
			t.Errorf("firewall: %v", opts)
		}
		l.sim.Do(func(s *State) {
			if !s.Pools["team"].VMs[200] {
				t.Error("the clone isn't in the pool")
			}
		})
	})
}

func TestAConfigOfACloneGrowsWithItsDisks(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.create("name", "web", "scsi0", "local:1,format=qcow2", "scsi1", "local:1,format=qcow2")
		upid := l.must("POST", labVM+"/clone", "newid", "200", "name", "copy", "full", "1").(string)
		if !strings.Contains(upid, ":qmclone:100:root@pam:") {
			t.Errorf("the task is %s", upid)
		}
		time.Sleep(3 * time.Second)
		if c := l.configOf(clonePath); c["lock"] != "clone" || c["name"] != nil || len(c) != 3 {
			t.Errorf("at first: %v", c)
		}
		l.answers(500, "unable to create VM 200: config file already exists", "POST", labVM+"/clone", "newid", "200")
		time.Sleep(10 * time.Second)
		if c := l.configOf(clonePath); c["lock"] != "clone" || c["name"] != "copy" || c["scsi0"] == nil || c["scsi1"] != nil {
			t.Errorf("then: %v", c)
		}
		l.ended(upid)
		if c := l.configOf(clonePath); c["lock"] != nil || c["scsi1"] == nil {
			t.Errorf("at last: %v", c)
		}
	})
}

func TestOfTwoClonesToOneIDTheSecondFails(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1,format=qcow2")
		var upids []any
		var found []reply
		l.sim.mu.Lock() // both requests come before the first task can begin
		done := make(chan reply, 2)
		for range 2 {
			go func() { done <- l.post(labVM+"/clone", "newid", "200", "full", "1") }()
		}
		l.sim.mu.Unlock()
		for range 2 {
			r := <-done
			found = append(found, r)
			upids = append(upids, r.data)
		}
		exits := map[string]int{}
		for i, upid := range upids {
			if found[i].status != 200 {
				exits[found[i].reason]++
				continue
			}
			exit, _ := l.ended(upid)
			exits[exit]++
		}
		late, early := "can't lock file '/var/lock/qemu-server/lock-200.conf' - got timeout", "unable to create VM 200: config file already exists"
		if exits["OK"] != 1 || exits[late]+exits[early] != 1 {
			t.Errorf("ends: %v", exits)
		}
	})
}

func TestAnAbortedCloneIsGone(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1,format=qcow2", "scsi1", "local:1,format=qcow2")
		upid := l.must("POST", labVM+"/clone", "newid", "200", "full", "1").(string)
		time.Sleep(15 * time.Second)
		l.must("DELETE", "/nodes/pve1/tasks/"+upid)
		if exit, _ := l.ended(upid); exit != "clone failed: interrupted by signal" {
			t.Errorf("ended with %q", exit)
		}
		l.answers(500, "Configuration file 'nodes/pve1/qemu-server/200.conf' does not exist", "GET", clonePath+"/config")
		l.sim.Do(func(*State) {
			if left := l.sim.space("local", "pve1").ofVM(200); len(left) != 0 {
				t.Errorf("volumes are left: %v", left)
			}
		})
		l.run("POST", labVM+"/clone", "newid", "200", "full", "1")
	})
}

func TestClonesOfOneSourceRunSideBySideAndKeepWritersOut(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.create("scsi0", "local:0,import-from=local:import/disk.qcow2,format=qcow2", "scsi1", "thin:1")
		l.run("POST", labVM+"/template")
		start := l.sim.now()
		one := l.must("POST", labVM+"/clone", "newid", "200", "full", "1")
		two := l.must("POST", labVM+"/clone", "newid", "201", "full", "1")
		time.Sleep(time.Second)
		l.answers(500, "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout", "PUT", labVM+"/config", "name", "x")
		for _, upid := range []any{one, two} {
			if exit, _ := l.ended(upid); exit != "OK" {
				t.Errorf("ended with %q", exit)
			}
		}
		if took := l.sim.now().Sub(start); took > 20*time.Second {
			t.Errorf("both took %s", took)
		}
		l.set("name", "x")
	})
}

func TestLinkedClonesStandOnTheTemplate(t *testing.T) {
	bothReleases(t, func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1,format=qcow2", "efidisk0", "thin:1", "bios", "ovmf")
		l.run("POST", labVM+"/template")
		l.holds("scsi0", "local:100/base-100-disk-0.qcow2,size=1G", "template", 1)
		l.run("POST", labVM+"/clone", "newid", "200", "name", "linked")
		c := l.configOf(clonePath)
		if c["scsi0"] != "local:100/base-100-disk-0.qcow2/200/vm-200-disk-0.qcow2,size=1G" || c["template"] != nil {
			t.Errorf("clone: %v", c)
		}
		l.answers(500, "parameter 'format' not allowed for linked clones", "POST", labVM+"/clone", "newid", "201", "format", "raw")
		l.answers(500, "you can't convert a template to a template", "POST", labVM+"/template")
		l.fails("you can't take a snapshot if it's a template", "POST", labVM+"/snapshot", "snapname", "one")
	})
}

func TestHalfATemplateHasNoLinkedClones(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1,format=qcow2")
		l.run("POST", labVM+"/template", "disk", "scsi5")
		l.holds("template", 1, "scsi0", "local:100/vm-100-disk-0.qcow2,size=1G")
		l.answers(500, "Linked clone feature is not supported for 'local:100/vm-100-disk-0.qcow2' (scsi0)", "POST", labVM+"/clone", "newid", "200")
		l.run("POST", labVM+"/template", "disk", "scsi0")
		l.run("POST", labVM+"/clone", "newid", "200")
	})
}

func TestACloneMayGoToAnotherNodeIfAllIsShared(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.create("scsi0", "share:1,format=qcow2")
		l.run("POST", labVM+"/clone", "newid", "200", "target", "pve2")
		if c := l.configOf("/nodes/pve2/qemu/200"); c["scsi0"] != "share:200/vm-200-disk-0.qcow2,size=1G" {
			t.Errorf("clone: %v", c)
		}
		l.fails("close (rename) atomic file '/etc/pve/nodes/pve1/qemu-server/200.conf' failed: File exists", "POST", labVM+"/clone", "newid", "200")
		l.answers(500, "can't clone to non-shared storage 'local'", "POST", labVM+"/clone", "newid", "201", "target", "pve2", "storage", "local")
		l.answers(500, "storage 'here' is not available on node 'pve2'", "POST", labVM+"/clone", "newid", "201", "target", "pve2", "storage", "here")
		r := l.post(labVM+"/clone", "newid", "201", "storage", "isos")
		if r.errors["storage"] != "storage 'isos' does not support vm images" {
			t.Errorf("answer %+v", r)
		}
	})
}

func TestACloneOfASnapshot(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1,format=qcow2", "name", "then")
		l.run("POST", labVM+"/snapshot", "snapname", "one", "description", "of then")
		l.set("name", "now")
		l.run("PUT", labVM+"/resize", "disk", "scsi0", "size", "+1G")
		l.run("POST", labVM+"/clone", "newid", "200", "snapname", "one", "full", "1")
		c := l.configOf(clonePath)
		if c["name"] != "Copy-of-VM-then" || c["description"] != "of then" || c["parent"] != nil || c["snaptime"] != nil {
			t.Errorf("clone: %v", c)
		}
		l.answers(500, "Linked clone feature is not supported for a snapshot of 'local:100/vm-100-disk-0.qcow2' (scsi0)", "POST", labVM+"/clone", "newid", "201", "snapname", "one", "full", "0")
	})
}

func TestACloneNeedsRightsOnStorageAndBridge(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1,format=qcow2", "net0", "virtio,bridge=vmbr0")
		l.must("PUT", "/access/acl", "path", "/vms", "users", "ann@pve", "roles", "PVEVMAdmin")
		ann := &lab{l.login("ann@pve", "secret")}
		ann.answers(403, "Permission check failed (/storage/local, Datastore.AllocateSpace)", "POST", labVM+"/clone", "newid", "200")
		l.must("PUT", "/access/acl", "path", "/storage/local", "users", "ann@pve", "roles", "PVEDatastoreUser")
		ann.answers(403, "Permission check failed (/sdn/zones/localnetwork/vmbr0, SDN.Use)", "POST", labVM+"/clone", "newid", "200")
		l.must("PUT", "/access/acl", "path", "/sdn/zones", "users", "ann@pve", "roles", "PVESDNUser")
		ann.run("POST", labVM+"/clone", "newid", "200")
	})
}

func TestACloneOfARunningVM(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.linux()
		l.start()
		time.Sleep(20 * time.Second)
		log := strings.Join(l.run("POST", labVM+"/clone", "newid", "200", "full", "1"), "\n")
		for _, want := range []string{"drive mirror is starting for drive-scsi0", "freeze filesystem", "drive-scsi0: Completed successfully."} {
			if !strings.Contains(log, want) {
				t.Errorf("no %q in %s", want, log)
			}
		}
		l.run("POST", clonePath+"/status/start")
		time.Sleep(20 * time.Second)
		l.must("POST", clonePath+"/agent/ping")
	})
}
