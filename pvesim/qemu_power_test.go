package pvesim

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAStartAppliesWhatIsPendingAndAStopToo(t *testing.T) {
	bothReleases(t, func(t *testing.T, l *lab) {
		l.create("memory", "512", "hotplug", "0")
		l.start()
		l.set("memory", "1024")
		if l.status("maxmem") != float64(512<<20) {
			t.Errorf("memory of the running VM is %v", l.status("maxmem"))
		}
		l.run("POST", labVM+"/status/stop")
		if l.status("maxmem") != float64(1024<<20) || l.waits("memory") {
			t.Errorf("after the stop memory is %v, still pending: %t", l.status("maxmem"), l.waits("memory"))
		}
	})
}

func TestABlankDiskHearsNoShutdown(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1")
		l.start()
		start := l.sim.now()
		l.fails("VM quit/powerdown failed - got timeout", "POST", labVM+"/status/shutdown", "timeout", "7")
		if took := l.sim.now().Sub(start); took != 7*time.Second {
			t.Errorf("it took %s", took)
		}
		l.is("running")
		log := l.run("POST", labVM+"/status/shutdown", "timeout", "2", "forceStop", "1")
		if !slices.Contains(log, "VM still running - terminating now with SIGTERM") {
			t.Errorf("log: %q", log)
		}
		l.is("stopped")
	})
}

func TestTheStartupOptionSaysHowLongAShutdownMayTake(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.create("startup", "order=1,down=9")
		l.start()
		start := l.sim.now()
		l.fails("VM quit/powerdown failed - got timeout", "POST", labVM+"/status/shutdown")
		if took := l.sim.now().Sub(start); took != 9*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAGuestShutsDownWhenAskedEvenIfTheTaskIsStopped(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.linux()
		l.start()
		time.Sleep(20 * time.Second)
		upid := l.must("POST", labVM+"/status/shutdown").(string)
		time.Sleep(time.Second)
		l.sim.mu.Lock()
		l.sim.kill(upid)
		l.sim.mu.Unlock()
		if exit, _ := l.ended(upid); exit != "received interrupt" {
			t.Errorf("the task ended with %q", exit)
		}
		l.is("running")
		time.Sleep(5 * time.Second)
		l.is("stopped")
	})
}

func TestARebootThroughTheAPIStartsTheVMInATaskOfItsOwn(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.linux("hotplug", "0")
		l.start()
		time.Sleep(20 * time.Second)
		l.set("cores", "2")
		l.run("POST", labVM+"/status/reboot")
		time.Sleep(2 * time.Second)
		l.is("running")
		if l.status("cpus") != 2.0 {
			t.Errorf("the VM has %v CPUs", l.status("cpus"))
		}
		var types []string
		for _, item := range l.must("GET", "/nodes/pve1/tasks", "vmid", "100").([]any) {
			types = append(types, item.(map[string]any)["type"].(string))
		}
		if strings.Join(types, " ") != "qmstart qmreboot qmstart qmcreate" {
			t.Errorf("tasks: %q", types)
		}
	})
}

func TestAPausedVMIsNotShutDown(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.linux()
		l.start()
		l.run("POST", labVM+"/status/suspend")
		l.is("paused")
		l.answers(500, "VM is paused - cannot shutdown", "POST", labVM+"/status/shutdown")
		l.answers(500, "VM is paused - cannot shutdown", "POST", labVM+"/status/reboot")
		time.Sleep(time.Hour)
		l.answers(500, "QEMU guest agent is not running", "POST", labVM+"/agent/ping")
		l.run("POST", labVM+"/status/resume")
		l.answers(500, "QEMU guest agent is not running", "POST", labVM+"/agent/ping")
		time.Sleep(15 * time.Second) // the boot goes on where it was
		l.agent("POST", "ping")
		l.run("POST", labVM+"/status/suspend")
		l.run("POST", labVM+"/status/shutdown", "forceStop", "1")
		l.is("stopped")
	})
}

func TestASuspendedVMGoesOnWhereItWas(t *testing.T) {
	bothReleases(t, func(t *testing.T, l *lab) {
		l.linux()
		l.start()
		l.agent("POST", "file-write", "file", "/tmp/x", "content", "hello")
		l.run("POST", labVM+"/status/suspend", "todisk", "1")
		l.is("stopped")
		if l.config()["lock"] != "suspended" || !strings.Contains(l.volumes("local"), "vm-100-state-suspend-") {
			t.Errorf("config %v, volumes %s", l.config(), l.volumes("local"))
		}
		l.fails("VM is locked (suspended)", "POST", labVM+"/snapshot", "snapname", "no")
		log := l.run("POST", labVM+"/status/resume")
		if log[0] != "Resuming suspended VM" {
			t.Errorf("log: %q", log)
		}
		if got := l.agent("GET", "file-read", "file", "/tmp/x").(map[string]any)["content"]; got != "hello" {
			t.Errorf("the file holds %v", got)
		}
		if c := l.config(); c["lock"] != nil || c["vmstate"] != nil || c["runningmachine"] != nil || strings.Contains(l.volumes("local"), "state") {
			t.Errorf("left: %v, %s", c, l.volumes("local"))
		}
	})
}

func TestAStopCanOverruleAShutdown(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.create()
		l.start()
		shutdown := l.must("POST", labVM+"/status/shutdown", "timeout", "600")
		time.Sleep(time.Second)
		log := l.run("POST", labVM+"/status/stop", "overrule-shutdown", "1")
		if !strings.HasPrefix(log[0], "overruled qmshutdown tasks: UPID:pve1:") {
			t.Errorf("log: %q", log)
		}
		if exit, _ := l.ended(shutdown); exit != "received interrupt" {
			t.Errorf("the shutdown ended with %q", exit)
		}
	})
}

func TestWhatIsMissingKeepsAVMFromStarting(t *testing.T) {
	for _, c := range []struct {
		reason, exit string
		options      []string
	}{
		{"more CPUs than the node has", "MAX 8 vcpus allowed per VM on this node", []string{"cores", "9"}},
		{"a bridge that isn't there", "bridge 'nope' does not exist", []string{"net0", "virtio,bridge=nope"}},
		{"such a bridge with another model", "start failed: QEMU exited with code 1", []string{"net0", "e1000,bridge=nope"}},
		{"an unknown option for QEMU", "start failed: QEMU exited with code 1", []string{"args", "-nonsense 1"}},
		{"more memory than the node has", "start failed: QEMU exited with code 1", []string{"memory", "65536"}},
		{"memory hotplug without NUMA", "NUMA needs to be enabled for memory hotplug", []string{"hotplug", "memory,disk"}},
		{"a directory that isn't mapped", "Directory ID gone does not exist.", []string{"virtiofs0", "gone"}},
		{"a device of the host", "no PCI device found for '01:00.0'", []string{"hostpci0", "01:00.0"}},
		{"an MTU above the bridge's", "netdev net0: MTU '9000' is bigger than the bridge MTU '1500'", []string{"net0", "virtio,bridge=vmbr0,mtu=9000"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			inLab(t, "9.2", func(t *testing.T, l *lab) {
				l.create(c.options...)
				l.fails(c.exit, "POST", labVM+"/status/start")
				l.is("stopped")
			})
		})
	}
}

func TestAVolumeThatIsGoneKeepsAVMFromStarting(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1", "scsi1", "thin:1")
		l.sim.Do(func(*State) { l.sim.space("local", "pve1").drop("100/vm-100-disk-0.raw") })
		l.fails("volume 'local:100/vm-100-disk-0.raw' does not exist", "POST", labVM+"/status/start")
		l.set("delete", "scsi0")
		l.sim.Do(func(*State) { l.sim.space("thin", "pve1").drop("vm-100-disk-0") })
		l.fails("no such logical volume pve/vm-100-disk-0", "POST", labVM+"/status/start")
	})
}

func TestAHookScriptThatFailsKeepsAVMFromStarting(t *testing.T) {
	inTown(t, "9.2", func(w *World) {
		w.Storages[0].Volumes = append(w.Storages[0].Volumes, WorldVolume{Name: "snippets/bad.sh", Text: "#!/bin/sh\necho \"no: $1 $2\"\nexit 3\n"})
	}, func(t *testing.T, l *lab) {
		l.create("hookscript", "local:snippets/bad.sh")
		exit, log := l.ended(l.must("POST", labVM+"/status/start"))
		if exit != "hookscript error for 100 on pre-start: command '/var/lib/vz/snippets/bad.sh 100 pre-start' failed: exit code 3 " || log[0] != "no: 100 pre-start" {
			t.Errorf("ended with %q, log %q", exit, log)
		}
	})
}

func TestStoppingAndStartingMissingVMs(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		const gone = "/nodes/pve1/qemu/999/status/"
		l.fails("Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist", "POST", gone+"start")
		l.fails("unable to find configuration file for VM 999 on node 'pve1'", "POST", gone+"stop")
		for _, verb := range []string{"reset", "reboot", "suspend", "resume"} {
			l.answers(500, "unable to find configuration file for VM 999 on node 'pve1'", "POST", gone+verb)
		}
	})
}

func TestOnlyRootMaySkipALock(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create()
		l.set("lock", "backup")
		l.fails("VM is locked (backup)", "POST", labVM+"/status/start")
		l.must("PUT", "/access/acl", "path", "/vms", "users", "ann@pve", "roles", "PVEVMAdmin")
		ann := &lab{l.login("ann@pve", "secret")}
		if r := ann.post(labVM+"/status/start", "skiplock", "1"); r.errors["skiplock"] != "Only root may use this option." {
			t.Errorf("answer %+v", r)
		}
		l.run("POST", labVM+"/status/start", "skiplock", "1")
	})
}

func TestAManagedVMIsStartedAndStoppedByTheManager(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.linux()
		l.must("POST", "/cluster/ha/resources", "sid", "vm:100", "state", "stopped")
		log := l.run("POST", labVM+"/status/start")
		if log[0] != "Requesting HA start for VM 100" {
			t.Errorf("log: %q", log)
		}
		time.Sleep(20 * time.Second)
		l.is("running")
		if ha := l.status("ha").(map[string]any); ha["managed"] != 1.0 {
			t.Errorf("ha: %v", ha)
		}
		r := l.post(labVM+"/status/stop", "overrule-shutdown", "1")
		if r.errors["overrule-shutdown"] != "Not applicable for HA resources." {
			t.Errorf("answer %+v", r)
		}
		l.run("POST", labVM+"/status/shutdown")
		time.Sleep(10 * time.Second)
		l.is("stopped")
	})
}

func TestAStartThatTakesTooLongFailsAndTheVMRunsAllTheSame(t *testing.T) {
	inTown(t, "9.2", func(w *World) { w.Timing.Start = Duration(40 * time.Second) }, func(t *testing.T, l *lab) {
		l.create()
		exit, _ := l.ended(l.must("POST", labVM+"/status/start"))
		if !strings.HasSuffix(exit, "failed: got timeout") {
			t.Errorf("ended with %q", exit)
		}
		l.is("running")
	})
}
