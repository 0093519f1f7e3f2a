package observe

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// lists hands an observer lists as Proxmox would.
type lists struct {
	o     *Observer
	tasks []pve.TaskInfo
}

func (l *lists) show(guests ...pve.Resource) {
	l.o.mu.Lock()
	defer l.o.mu.Unlock()
	all := []pve.Resource{{Type: "node", Node: "pve1", Status: "online", MaxMemory: 1 << 30}}
	for _, g := range guests {
		g.Type, g.Node = "qemu", "pve1"
		all = append(all, g)
	}
	l.o.merge(time.Now(), all, l.tasks)
	l.o.merged++
}

func (l *lists) guest(id int) *model.Guest { return l.o.Snapshot().Guests[id] }

// read is as if a config had been read right now.
func (l *lists) read(id int, settings ...pve.PendingSetting) {
	got := readingOf(settings)
	l.o.change(id, func(r *record) {
		r.config, r.configAt = got.config, time.Now()
		r.name, r.lock, r.template = got.name, got.lock, got.template
	})
}

func inLists(t *testing.T, test func(t *testing.T, l *lists)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client, err := pve.New(pve.Config{Endpoints: []string{"https://pve.test:8006"}, Credentials: pve.Password("root@pam", "secret")})
		if err != nil {
			t.Fatal(err)
		}
		test(t, &lists{o: New(client)})
	})
}

func running(tags string) pve.Resource {
	return pve.Resource{VMID: 100, Name: "web", Status: "running", Tags: tags, Uptime: 60}
}

// aMinuteLater is what the list says of the same run.
func aMinuteLater(r pve.Resource) pve.Resource {
	r.Uptime += 60
	return r
}

func stopped(tags string) pve.Resource {
	return pve.Resource{VMID: 100, Name: "web", Status: "stopped", Tags: tags}
}

func TestWhatWeDidCountsMoreThanAListThatIsLate(t *testing.T) {
	inLists(t, func(t *testing.T, l *lists) {
		l.show(stopped("a"))
		time.Sleep(time.Minute)
		l.o.Powered(100, model.StatusRunning)
		time.Sleep(5 * time.Second)
		l.show(stopped("a"))
		if s := l.guest(100).Status; s != model.StatusRunning {
			t.Errorf("five seconds after the start it counts as %s", s)
		}
		time.Sleep(lag)
		l.show(stopped("a"))
		if s := l.guest(100).Status; s != model.StatusStopped {
			t.Errorf("the list has had its time, and it counts as %s", s)
		}
	})
}

func TestConfigsAreKeptUntilTheListShowsAChange(t *testing.T) {
	for _, c := range []struct {
		reason string
		list   pve.Resource
		kept   bool
	}{
		{"nothing has changed", aMinuteLater(running("a")), true},
		{"the tags have", aMinuteLater(running("b")), false},
		{"it has stopped", stopped("a"), false},
		{"it is locked", pve.Resource{VMID: 100, Name: "web", Status: "running", Tags: "a", Uptime: 120, Lock: "backup"}, false},
		{"it was restarted", pve.Resource{VMID: 100, Name: "web", Status: "running", Tags: "a", Uptime: 3}, false},
		{"the figures have moved on", pve.Resource{VMID: 100, Name: "web", Status: "running", Tags: "a", Uptime: 120, Memory: 7}, true},
	} {
		inLists(t, func(t *testing.T, l *lists) {
			l.show(running("a"))
			l.read(100, is("tags", "a"), is("cores", "2"))
			l.o.FirewallSet(100, model.Firewall{})
			time.Sleep(time.Minute)
			l.show(c.list)
			if kept := l.guest(100).Firewall != nil; kept != c.kept {
				t.Errorf("%s: the firewall is kept: %v", c.reason, kept)
			}
			if kept := l.guest(100).Config != nil; kept != c.kept {
				t.Errorf("%s: kept is %v", c.reason, kept)
			}
		})
	}
}

func TestAFirewallIsReadAgainWhereTheConfigIsNotKnown(t *testing.T) {
	inLists(t, func(t *testing.T, l *lists) {
		l.show(running("a"))
		l.o.FirewallSet(100, model.Firewall{})
		time.Sleep(time.Minute)
		l.show(aMinuteLater(running("a")))
		if l.guest(100).Firewall == nil {
			t.Error("it is forgotten though nothing has changed")
		}
		l.show(stopped("a"))
		if l.guest(100).Firewall != nil {
			t.Error("it is kept though somebody has stopped the guest")
		}
	})
}

func TestTasksOfOthersMakeUsReadAgain(t *testing.T) {
	upid := func(text string) pve.UPID {
		u, err := pve.ParseUPID(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for _, c := range []struct {
		task string
		ours bool
		kept bool
	}{
		{"UPID:pve1:00000001:00000001:68000000:resize:100:ann@pve:", false, false},
		{"UPID:pve1:00000001:00000001:68000000:resize:100:root@pam!us:", true, true},
		{"UPID:pve1:00000001:00000001:68000000:qmclone:100:ann@pve:", false, true},
		{"UPID:pve1:00000001:00000001:68000000:resize:101:ann@pve:", false, true},
	} {
		inLists(t, func(t *testing.T, l *lists) {
			l.show(running("a"))
			l.read(100, is("tags", "a"))
			l.o.FirewallSet(100, model.Firewall{})
			if c.ours {
				l.o.TaskStarted(c.task)
				l.o.TaskEnded(c.task)
			}
			time.Sleep(20 * time.Second)
			l.tasks = []pve.TaskInfo{{UPID: upid(c.task), Type: upid(c.task).Type, ID: "100", Status: "OK", EndTime: time.Now()}}
			l.show(running("a"))
			if kept := l.guest(100).Config != nil; kept != c.kept {
				t.Errorf("%s: kept is %v", c.task, kept)
			}
			if kept := l.guest(100).Firewall != nil; kept != c.kept {
				t.Errorf("%s: the firewall is kept: %v", c.task, kept)
			}
		})
	}
}

func TestListsThatAreOlderThanWhatWeDidAreSeenThrough(t *testing.T) {
	inLists(t, func(t *testing.T, l *lists) {
		begun := time.Now()
		time.Sleep(time.Second)
		l.o.Made(model.Guest{VMID: 200, Node: "pve1", Name: "new"})
		l.o.mu.Lock()
		l.o.merge(begun, nil, nil)
		l.o.mu.Unlock()
		if l.guest(200) == nil {
			t.Error("a guest that we made is forgotten because of a list that is older")
		}
		time.Sleep(time.Second)
		l.show()
		if l.guest(200) != nil {
			t.Error("a guest that a younger list doesn't show is still there")
		}
		l.show(running("a"))
		begun = time.Now()
		time.Sleep(time.Second)
		l.o.Gone(100)
		l.o.mu.Lock()
		l.o.merge(begun, []pve.Resource{{Type: "qemu", Node: "pve1", VMID: 100}}, nil)
		l.o.mu.Unlock()
		if l.guest(100) != nil {
			t.Error("a guest that we destroyed is back because of a list that is older")
		}
	})
}

func TestSignsThatTheListIsLateMakeItUnknownWhetherAGuestRuns(t *testing.T) {
	inLists(t, func(t *testing.T, l *lists) {
		l.show(stopped("a"))
		l.read(100, is("tags", "a"), waits("cores", "2", "4"))
		if s := l.guest(100).Status; s != model.StatusUnknown {
			t.Errorf("changes wait for its restart, and it counts as %s", s)
		}
	})
	inLists(t, func(t *testing.T, l *lists) {
		upid, err := pve.ParseUPID("UPID:pve1:00000001:00000001:68000000:qmstart:100:ann@pve:")
		if err != nil {
			t.Fatal(err)
		}
		l.tasks = []pve.TaskInfo{{UPID: upid, Status: "OK", EndTime: time.Now().Add(-3 * time.Second)}}
		l.show(stopped("a"))
		if s := l.guest(100).Status; s != model.StatusUnknown {
			t.Errorf("it was started three seconds ago, and counts as %s", s)
		}
		time.Sleep(time.Minute)
		l.show(stopped("a"))
		if s := l.guest(100).Status; s != model.StatusStopped {
			t.Errorf("it was started a minute ago, and counts as %s", s)
		}
	})
}

func TestContainersTakeVMIDsAndAreReadForTheirAddressesAlone(t *testing.T) {
	inLists(t, func(t *testing.T, l *lists) {
		l.o.mu.Lock()
		l.o.merge(time.Now(), []pve.Resource{{Type: "lxc", Node: "pve1", VMID: 300, Status: "running"}}, nil)
		l.o.mu.Unlock()
		if g := l.guest(300); g == nil || g.Config == nil || g.Config.Marker != nil || g.AddressesKnown() {
			t.Errorf("%+v", g)
		}
	})
}

func TestDoubtsAloneTakeNoAddressesAway(t *testing.T) {
	for _, c := range []struct {
		reason string
		uptime time.Duration
		status string
		keeps  bool
	}{
		{"it has run on", 10 * time.Minute, "running", true},
		{"it was restarted", 5 * time.Second, "running", false},
		{"it was restarted within this second", 0, "running", false},
		{"it is off", 0, "stopped", false},
	} {
		inLists(t, func(t *testing.T, l *lists) {
			l.show(running("a"))
			time.Sleep(10*time.Minute - time.Minute)
			l.o.change(100, func(r *record) {
				r.takeStatus(pve.VMStatus{Status: "running", Uptime: 600}, time.Now())
				r.agent, r.addresses = model.AgentUp, []netip.Prefix{netip.MustParsePrefix("10.0.0.7/24")}
			})
			l.o.Unsure(100)
			l.o.change(100, func(r *record) {
				r.takeStatus(pve.VMStatus{Status: c.status, Uptime: int64(c.uptime / time.Second)}, time.Now())
			})
			if keeps := len(l.guest(100).Addresses) > 0; keeps != c.keeps {
				t.Errorf("%s: its address is known: %v", c.reason, keeps)
			}
		})
	}
}

// A task that restarts a guest may fail when that is done: what the agent reported before is in doubt.
func TestAStepThatMayHaveRestartedAGuestTakesItsAddressesAway(t *testing.T) {
	at := model.Target{VMID: 100, Node: "pve1"}
	for _, c := range []struct {
		failed model.Action
		keeps  bool
	}{
		{model.Reboot{Target: at}, false},
		{model.Start{Target: at}, false},
		{model.Rollback{Target: at}, false},
		{model.Configure{Target: at}, true},
	} {
		inLists(t, func(t *testing.T, l *lists) {
			l.show(running("a"))
			l.o.change(100, func(r *record) {
				r.agent, r.addresses = model.AgentUp, []netip.Prefix{netip.MustParsePrefix("10.0.0.7/24")}
			})
			l.o.Doubt(c.failed)
			if keeps := len(l.guest(100).Addresses) > 0; keeps != c.keeps {
				t.Errorf("%T failed: its address is known: %v", c.failed, keeps)
			}
		})
	}
}

// What was started after it was made is its own process, though its uptime may grow faster
// than our clock: that of a suspended computer stands still.
func TestAGuestThatWasStartedIsNoStray(t *testing.T) {
	inLists(t, func(t *testing.T, l *lists) {
		l.o.Made(model.Guest{VMID: 100, Node: "pve1", Name: "a"})
		older := pve.VMStatus{Name: "a", Status: "running", Uptime: 3600}
		l.o.change(100, func(r *record) { r.takeStatus(older, time.Now()) })
		if !l.guest(100).Stray {
			t.Error("a process runs that is older than the guest, which nobody has started")
		}
		l.o.Powered(100, model.StatusStopped)
		l.o.Powered(100, model.StatusRunning)
		if l.guest(100).Stray {
			t.Error("what was read before it was started still counts")
		}
		l.o.change(100, func(r *record) { r.takeStatus(older, time.Now()) })
		if l.guest(100).Stray {
			t.Error("its own process is taken for that of another guest")
		}
	})
}

// Whether anybody waits for an agent or not.
func TestAGuestWithoutAnAgentThatWasStartedIsNoStray(t *testing.T) {
	inLists(t, func(t *testing.T, l *lists) {
		l.o.Made(model.Guest{VMID: 100, Node: "pve1", Name: "a"})
		l.o.Done(model.Start{Target: model.Target{VMID: 100, Node: "pve1"}}, false)
		l.o.change(100, func(r *record) {
			r.takeStatus(pve.VMStatus{Name: "a", Status: "running", Uptime: 3600}, time.Now())
		})
		if l.guest(100).Stray {
			t.Error("its own process is taken for that of another guest")
		}
	})
}
