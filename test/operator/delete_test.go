package operator_test

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/sim"
)

const snapshot = `---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMSnapshot
metadata: {name: before}
spec: {vmRef: {name: web}}
`

func TestAMachineGoesAfterItsSnapshots(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web") + snapshot)
	s.waitFor("--for=condition=Ready", "vm/web", "vmsnapshot/before")
	s.kubectl("delete", "vm", "web", "--wait=false")
	s.waits("vm/web", "snapshot/before is a snapshot of it, which would go with it")
	if s.machines() != "web" {
		t.Fatalf("there is %q", s.machines())
	}
	s.kubectl("delete", "vmsnapshot", "before", "--timeout", patience.String())
	s.waitFor("--for=delete", "vm/web")
	if s.machines() != "" {
		t.Errorf("there is still %q", s.machines())
	}
}

func TestARetainedMachineStays(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web", "deletionPolicy: Retain", "description: by hand"))
	s.waitFor("--for=condition=Ready", "vm/web")
	s.kubectl("delete", "vm", "web", "--timeout", patience.String())
	if s.machines() != "web" || strings.Contains(s.conf("web", "description"), "proxplane") || strings.Contains(s.conf("web", "tags"), "proxplane") {
		t.Errorf("there is %q: %q, %q", s.machines(), s.conf("web", "description"), s.conf("web", "tags"))
	}
}

func TestAFetchedImageStaysWhileMachinesHangOnIt(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	fetched := strings.ReplaceAll(machine("web", "powerState: Off"), "source: ubuntu-22-template", "url: https://images.example/debian.qcow2, checksum: "+sim.ImageSum())
	s.apply(fetched)
	s.waitFor("--for=condition=Ready", "vm/web", "vmimage/ubuntu")
	if s.field("vmimage/ubuntu", ".status.providers[0]") != "proxmox" {
		t.Errorf("its status is %s", s.field("vmimage/ubuntu", ".status"))
	}
	s.kubectl("delete", "vmimage", "ubuntu", "--wait=false")
	s.waits("vmimage/ubuntu", "guests are linked clones of template")
	s.kubectl("delete", "vm", "web", "--timeout", patience.String())
	s.waitFor("--for=delete", "vmimage/ubuntu")
	s.pve.Do(func(st *pvesim.State) {
		if len(st.VMs) != 1 {
			t.Errorf("there are %d guests besides the template", len(st.VMs)-1)
		}
	})
}

func TestAProviderGoesLast(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	s.kubectl("delete", "provider", "proxmox", "--wait=false")
	s.waits("provider/proxmox", "1 machine is on it")
	s.kubectl("delete", "vm", "web", "--timeout", patience.String())
	s.waitFor("--for=delete", "provider/proxmox")
	if s.machines() != "" {
		t.Errorf("there is still %q", s.machines())
	}
}

func TestAnAnnotationLetsGoWhatCantBeDeleted(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	s.kubectl("delete", "provider", "proxmox", "--wait=false")
	s.kubectl("annotate", "provider", "proxmox", "virtrigaud.io/force-delete=true")
	s.waitFor("--for=delete", "provider/proxmox")
	s.kubectl("delete", "vm", "web", "--wait=false")
	s.waits("vm/web", "there is no Provider proxmox in namespace .*virtrigaud.io/force-delete=true")
	s.kubectl("annotate", "vm", "web", "virtrigaud.io/force-delete=true")
	s.waitFor("--for=delete", "vm/web")
	if s.machines() != "web" {
		t.Errorf("there is %q", s.machines())
	}
	s.until("it is told", func() bool { return strings.Contains(s.kubectl("events"), "what there is in Proxmox stays") })
}
