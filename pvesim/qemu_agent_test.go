package pvesim

import (
	"strings"
	"testing"
	"time"
)

// exec runs a program in the guest and returns its status when it has ended.
func (l *lab) exec(args ...string) map[string]any {
	l.t.Helper()
	var params []string
	for _, a := range args {
		params = append(params, "command", a)
	}
	pid := l.agent("POST", "exec", params...).(map[string]any)["pid"]
	return l.agent("GET", "exec-status", "pid", itoa(int(pid.(float64)))).(map[string]any)
}

func TestTheAgentComesUpSomeTimeAfterTheStart(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.linux("name", "web-1")
		l.answers(500, "VM 100 is not running", "GET", labVM+"/agent/info")
		l.start()
		asked := l.sim.now()
		l.answers(500, "QEMU guest agent is not running", "GET", labVM+"/agent/info")
		if waited := l.sim.now().Sub(asked); waited != 3*time.Second {
			t.Errorf("the call waited %s for the agent", waited)
		}
		time.Sleep(15 * time.Second)
		if got := l.agent("GET", "get-host-name").(map[string]any)["host-name"]; got != "web-1" {
			t.Errorf("the host is called %v", got)
		}
		if cpus := l.agent("GET", "get-vcpus").([]any); len(cpus) != 1 {
			t.Errorf("CPUs: %v", cpus)
		}
		if blocks := l.agent("GET", "get-memory-blocks").([]any); len(blocks) != 8 {
			t.Errorf("%d memory blocks of 1 GiB", len(blocks))
		}
	})
}

func TestASystemWithoutAgentBootsAndObeys(t *testing.T) {
	inTown(t, "9.2", func(w *World) { w.Storages[0].Volumes[3].System = WithoutAgent }, func(t *testing.T, l *lab) {
		l.linux()
		l.start()
		time.Sleep(time.Minute)
		l.answers(500, "QEMU guest agent is not running", "POST", labVM+"/agent/ping")
		log := l.run("POST", labVM+"/status/shutdown")
		if log[0] != "QEMU Guest Agent is not running - VM 100 qga command 'guest-ping' failed - got timeout" {
			t.Errorf("log: %q", log)
		}
		l.is("stopped")
	})
}

func TestAnAgentThatIsOffInTheConfigIsNotReached(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.linux("agent", "0")
		l.start()
		l.answers(500, "QEMU guest agent is not running", "POST", labVM+"/agent/ping")
		l.run("POST", labVM+"/status/stop")
		l.set("delete", "agent")
		l.start()
		l.answers(500, "No QEMU guest agent configured", "POST", labVM+"/agent/ping")
	})
}

// ips are the addresses of a network card as the agent shows them.
func (l *lab) ips(name string) string {
	l.t.Helper()
	for _, item := range l.agent("GET", "network-get-interfaces").([]any) {
		m := item.(map[string]any)
		if m["name"] != name {
			continue
		}
		var out []string
		for _, ip := range m["ip-addresses"].([]any) {
			out = append(out, ip.(map[string]any)["ip-address"].(string))
		}
		return strings.Join(out, " ")
	}
	return "none"
}

func TestGuestsHaveTheAddressesTheyWereGivenOrLeases(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.linux("net0", "virtio=BC:24:11:00:00:01,bridge=vmbr0", "net1", "virtio=BC:24:11:00:00:02,bridge=vmbr0", "net2", "virtio=BC:24:11:00:00:03,bridge=vmbr0",
			"net3", "virtio=BC:24:11:00:00:04,bridge=vmbr0,link_down=1",
			"ide2", "local:cloudinit", "ipconfig0", "ip=10.1.0.5/16,gw=10.1.0.1,ip6=fd00::5/64", "ipconfig1", "ip=dhcp", "ipconfig2", "ip6=auto")
		l.start()
		for name, want := range map[string]string{
			"lo": "127.0.0.1 ::1", "eth0": "10.1.0.5 fd00::5 fe80::be24:11ff:fe00:1",
			"eth1": "192.168.77.50 fe80::be24:11ff:fe00:2", "eth2": "fe80::be24:11ff:fe00:3", "eth3": "",
		} {
			if got := l.ips(name); got != want {
				t.Errorf("%s has %q, want %q", name, got, want)
			}
		}
		l.run("POST", labVM+"/status/stop")
		l.start()
		if got := l.ips("eth1"); !strings.HasPrefix(got, "192.168.77.50 ") {
			t.Errorf("after a restart eth1 has %q", got)
		}
	})
}

func TestLeasesOfCardsThatAreGoneAreGivenAgain(t *testing.T) {
	inTown(t, "9.2", func(w *World) { w.DHCP = WorldDHCP{Range: "10.0.0.1-10.0.0.2", Bits: 24} }, func(t *testing.T, l *lab) {
		l.linux()
		l.sim.Do(func(*State) {
			if p := l.sim.lease("aa:00:00:00:00:01"); p.String() != "10.0.0.1/24" {
				t.Errorf("first lease: %s", p)
			}
			mine := netMAC(l.sim.state.VMs[100].Conf["net0"])
			if p := l.sim.lease(mine); p.String() != "10.0.0.2/24" {
				t.Errorf("second lease: %s", p)
			}
			if p := l.sim.lease("aa:00:00:00:00:03"); p.String() != "10.0.0.1/24" {
				t.Errorf("third lease: %s", p)
			}
			if p := l.sim.lease(mine); p.String() != "10.0.0.2/24" {
				t.Errorf("second lease again: %s", p)
			}
		})
	})
}

func TestProgramsRunInTheGuest(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.linux("name", "web-1")
		l.start()
		for _, c := range []struct {
			args      []string
			out, errs string
			code      float64
		}{
			{[]string{"echo", "a  b", "c"}, "a  b c\n", "", 0},
			{[]string{"/bin/sh", "-c", "echo one; echo two >&2; exit 4; echo three"}, "one\n", "two\n", 4},
			{[]string{"sh", "-c", "false && echo no || echo yes; echo $?"}, "yes\n0\n", "", 0},
			{[]string{"bash", "-c", `X=5; echo "$X-${X}" '$X' \$X`}, "5-5 $X $X\n", "", 0},
			{[]string{"sh", "-c", "echo hi > /tmp/a; echo ho >> /tmp/a; cat /tmp/a | cat"}, "hi\nho\n", "", 0},
			{[]string{"sh", "-c", "cat /none 2>&1; nonsense"}, "cat: /none: No such file or directory\n", "sh: 1: nonsense: not found\n", 127},
			{[]string{"hostname"}, "web-1\n", "", 0},
			{[]string{"sh", "-c", "[ -f /etc/os-release ] && test ! = x; mkdir -p /opt/x/y && touch /opt/x/y/z && ls /opt/x/y"}, "z\n", "", 0},
			{[]string{"cloud-init", "status", "--wait"}, "status: done\n", "", 0},
			{[]string{"sh", "-c", "echo 'open"}, "", "sh: 1: Syntax error: Unterminated quoted string\n", 2},
		} {
			got := l.exec(c.args...)
			out, _ := got["out-data"].(string)
			errs, _ := got["err-data"].(string)
			if out != c.out || errs != c.errs || got["exitcode"] != c.code || got["exited"] != 1.0 {
				t.Errorf("%q: %v", c.args, got)
			}
		}
		l.answers(500, "Agent error: Guest agent command failed, error was 'Failed to execute child process “/opt/none” (No such file or directory)'",
			"POST", labVM+"/agent/exec", "command", "/opt/none")
	})
}

func TestAProgramThatSleepsEndsLater(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.linux()
		l.start()
		pid := itoa(int(l.agent("POST", "exec", "command", "sleep", "command", "30").(map[string]any)["pid"].(float64)))
		if got := l.agent("GET", "exec-status", "pid", pid).(map[string]any); got["exited"] != 0.0 || len(got) != 1 {
			t.Errorf("status: %v", got)
		}
		time.Sleep(30 * time.Second)
		if got := l.agent("GET", "exec-status", "pid", pid).(map[string]any); got["exited"] != 1.0 || got["exitcode"] != 0.0 {
			t.Errorf("status: %v", got)
		}
		l.answers(500, "Agent error: PID ld does not exist", "GET", labVM+"/agent/exec-status", "pid", pid)
	})
}

func TestAGuestThatPowersOffItselfKeepsWhatIsPending(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.linux("hotplug", "0")
		l.start()
		time.Sleep(20 * time.Second)
		l.set("memory", "2048")
		l.exec("poweroff")
		time.Sleep(5 * time.Second)
		l.is("stopped")
		if !l.waits("memory") {
			t.Error("the change isn't pending any more")
		}
		l.start()
		if l.waits("memory") {
			t.Error("the start didn't apply the change")
		}
	})
}

func TestARebootInsideTheGuestAppliesNothing(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.linux("hotplug", "0")
		l.start()
		time.Sleep(20 * time.Second)
		l.agent("POST", "file-write", "file", "/tmp/x", "content", "x")
		l.set("memory", "2048")
		pid := l.status("pid")
		l.exec("sh", "-c", "systemctl reboot")
		time.Sleep(5 * time.Second)
		l.answers(500, "QEMU guest agent is not running", "POST", labVM+"/agent/ping")
		time.Sleep(20 * time.Second)
		l.answers(500, "Agent error: failed to open file '/tmp/x' (mode: 'r'): No such file or directory", "GET", labVM+"/agent/file-read", "file", "/tmp/x")
		if !l.waits("memory") || l.status("pid") != pid {
			t.Error("the VM was started anew")
		}
	})
}

func TestFilesAreReadAndWrittenAsBytes(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.linux()
		l.start()
		l.agent("POST", "file-write", "file", "/tmp/x", "content", "größe")
		got := l.agent("GET", "file-read", "file", "/tmp/x").(map[string]any)
		if got["content"] != "größe" || got["bytes-read"] != 5.0 {
			t.Errorf("read %v", got)
		}
		got = l.agent("GET", "file-read", "file", "/tmp/x", "decode", "0", "offset", "1", "count", "2").(map[string]any)
		if got["content"] != "cvY=" || got["truncated"] != 1.0 {
			t.Errorf("read %v", got)
		}
		r := l.post(labVM+"/agent/file-write", "file", "/tmp/x", "content", "€")
		if r.status != 500 || !strings.HasPrefix(r.reason, "Wide character in subroutine entry at /usr/share/perl5/") {
			t.Errorf("answer %+v", r)
		}
		l.answers(500, "Agent error: failed to open file '/no/x' (mode: 'wb'): No such file or directory", "POST", labVM+"/agent/file-write", "file", "/no/x", "content", "x")
	})
}

func TestAShutdownThroughTheAgentAnswersWhenTheVMIsOff(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.linux()
		l.start()
		time.Sleep(20 * time.Second)
		if r := l.post(labVM + "/agent/shutdown"); r.status != 200 {
			t.Errorf("answer %+v", r)
		}
		l.is("stopped")
		l.start()
		time.Sleep(20 * time.Second)
		l.answers(500, "VM 100 qga command 'guest-suspend-ram' failed - got timeout", "POST", labVM+"/agent/suspend-ram")
		l.is("suspended")
		l.run("POST", labVM+"/status/resume")
		l.agent("POST", "ping")
	})
}
