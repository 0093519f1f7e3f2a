package operator_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

// What fails again and again is told once, and counted.
func TestWhatFailsAgainAndAgainIsNoStormOfEvents(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.waitFor("--for=condition=Ready", "provider/proxmox")
	id, err := s.pve.AddFault(pvesim.Fault{Task: "qmstart", Error: "the moon is full"})
	if err != nil {
		t.Fatal(err)
	}
	s.apply(machine("web"))
	s.until("it has failed several times", func() bool {
		for _, f := range s.pve.Faults() {
			if f.ID == id {
				return f.Struck >= 4
			}
		}
		return false
	})
	s.waits("vm/web", "the moon is full")
	for what, most := range map[string]int{"Failed start": 1} {
		events := ""
		s.until(what+" is told", func() bool {
			events = s.kubectl("get", "events", "--field-selector", "involvedObject.name=web", "-o", `jsonpath={range .items[*]}{.reason}{" "}{.message}{"\n"}{end}`)
			return strings.Contains(events, what)
		})
		if n := strings.Count(events, what); n > most {
			t.Errorf("%q is told %d times:\n%s", what, n, events)
		}
	}
	s.pve.RemoveFault(id)
	s.waitFor("--for=condition=Ready", "vm/web")
}

// events are those of an object: type, reason and text, a line each.
func (s *story) events(name string) string {
	s.t.Helper()
	return s.kubectl("get", "events", "--field-selector", "involvedObject.name="+name, "-o", `jsonpath={range .items[*]}{.type}{" "}{.reason}{" "}{.message}{"\n"}{end}`)
}

// A new machine is two events: that it was made, and that it is ready. What somebody
// has to do something about is a warning.
func TestEventsTellWhatMatters(t *testing.T) {
	t.Parallel()
	s := begin(t)
	o := s.operate("--alone", "--log-level", "info")
	s.provide()
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	s.until("it is told", func() bool { return strings.Contains(s.events("web"), "Normal Ready up to date") })
	if events := s.events("web"); strings.Count(events, "\n") != 2 || !strings.HasPrefix(events, "Normal Done clone") {
		t.Errorf("a new machine has the events\n%s", events)
	}
	s.apply(strings.NewReplacer("small", "huge", "memory: 2Gi", "memory: 4096Gi").Replace(machine("huge")))
	s.apply(strings.ReplaceAll(machine("lost"), "classRef: {name: small}", "classRef: {name: smal}"))
	s.apply(strings.ReplaceAll(machine("web"), "cpus: 2", "cpus: 4"))
	for name, want := range map[string]string{"huge": "Warning Waiting no node can take it", "lost": "Warning Invalid spec.classRef.name: there is no VMClass smal", "web": "Warning Waiting "} {
		s.until(name+" has "+want, func() bool { return strings.Contains(s.events(name), want) })
	}
	s.kubectl("delete", "vm", "web", "--timeout", patience.String())
	for _, want := range []string{`msg=created .*object=virtualmachine/` + s.namespace + `/web vmid=\d+ node=pve\d`, `msg=changed .*/web vmid.*cores 2 → 4`, `msg=refused .*/web vmid=\d+ node=pve\d`, `msg=deleted .*/web vmid=\d+ node=pve\d`} {
		if n := len(regexp.MustCompile(want).FindAllString(o.Log(), -1)); n != 1 {
			t.Errorf("the log has %d lines like %s:\n%s", n, want, o.Log())
		}
	}
}
