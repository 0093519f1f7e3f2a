package operator_test

import (
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
	for what, most := range map[string]int{"Begun start": 1, "Failed start": 1, "Waiting": 2} {
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
