package operator_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

// What the name of a template stands for is written down, and told when it changes.
func TestAnImageSaysWhatItsSourceStandsFor(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web", "vmimage/ubuntu")
	templates := func() string {
		return s.field("vmimage/ubuntu", `.status.templates[*]['provider','name','vmid','node']`)
	}
	s.until("the template is written down", func() bool { return strings.Contains(templates(), "ubuntu-22-template 9000") })
	// Somebody puts another template in its place.
	s.pve.Do(func(st *pvesim.State) { st.VMs[9000].Conf["name"] = "former" })
	s.until("it stands for nothing", func() bool { return s.field("vmimage/ubuntu", ".status.waiting") != "" })
	if got := templates(); !strings.Contains(got, "9000") {
		t.Errorf("what it stood for is forgotten: %q", got)
	}
	s.pve.Do(func(st *pvesim.State) {
		other := *st.VMs[9000]
		other.ID = 9500
		other.Conf = maps.Clone(other.Conf)
		other.Conf["name"] = "ubuntu-22-template"
		st.VMs[9500] = &other
	})
	s.until("it stands for another one", func() bool { return strings.Contains(templates(), "9500") && !strings.Contains(templates(), "9000") })
	s.until("that is told", func() bool {
		return strings.Contains(s.kubectl("events", "--for", "vmimage/ubuntu"), "stands for template 9500 on pve1 now, and no longer for template 9000")
	})
	// Who has written the status is known by one name.
	if managers := s.kubectl("get", "vmimage/ubuntu", "--show-managed-fields", "-o", `jsonpath={.metadata.managedFields[?(@.subresource=="status")].manager}`); managers != "proxplane" {
		t.Errorf("the status is written by %q", managers)
	}
}
