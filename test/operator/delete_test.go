package operator_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
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
	s.waits("vmimage/ubuntu", "1 machine uses it; it goes when none does")
	s.kubectl("patch", "vm", "web", "--type=merge", "-p", `{"spec":{"deletionPolicy":"Retain"}}`)
	s.kubectl("delete", "vm", "web", "--timeout", patience.String())
	s.waits("vmimage/ubuntu", "template .* stays while web .* is a linked clone of it")
	if err := s.pve.Touch(t.Context(), "web", "DELETE", "", nil); err != nil {
		t.Fatal(err)
	}
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
	s.kubectl("patch", "vm", "web", "--type=merge", "-p", `{"spec":{"classRef":{"name":"none"}}}`)
	s.waits("vm/web", "there is no VMClass none") // its machine is there all the same
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

// What is released is never touched, whether the annotation came before the deletion
// or while that was under way.
func TestWhatIsReleasedIsNeverTouched(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("first") + machine("second", "powerState: Off") + machine("third") + machine("fourth", "powerState: Off") + pair)
	all := []string{"vm/first", "vm/second", "vm/third", "vm/fourth", "vm/several"}
	s.waitFor(append([]string{"--for=condition=Ready"}, all...)...)
	before := machinesIn(s.pve)
	running := s.running()
	s.kubectl(append(append([]string{"annotate"}, all...), "virtrigaud.io/force-delete=true")...)
	s.kubectl(append([]string{"delete", "--timeout", patience.String()}, all...)...)
	s.until("it is told", func() bool { return strings.Contains(s.kubectl("events"), "what there is in Proxmox stays") })
	// A second object goes the usual way: whatever was begun for the others has ended then.
	s.apply(machine("last"))
	s.waitFor("--for=condition=Ready", "vm/last")
	s.kubectl("delete", "vm/last", "--timeout", patience.String())
	if diff := cmp.Diff(before, machinesIn(s.pve)); diff != "" {
		t.Errorf("something was done to what was released (-before +after):\n%s", diff)
	}
	if now := s.running(); now != running {
		t.Errorf("there ran %s, and now %s", running, now)
	}
}

func TestWhatIsReleasedWhileItIsDeletedIsNotDestroyed(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web", "deletionGracePeriodSeconds: 0"))
	s.waitFor("--for=condition=Ready", "vm/web")
	fault, err := s.pve.AddFault(pvesim.Fault{Task: "qmstop", Delay: pvesim.Duration(held)})
	if err != nil {
		t.Fatal(err)
	}
	s.kubectl("delete", "vm", "web", "--wait=false")
	s.waits("vm/web", "stop VM|shut VM")
	s.kubectl("annotate", "vm", "web", "virtrigaud.io/force-delete=true")
	// Whoever knows an object that came later has seen the annotation, too.
	s.apply(machine("last"))
	s.waitFor("--for=condition=Ready", "vm/last")
	s.pve.RemoveFault(fault)
	s.release()
	s.waitFor("--for=delete", "vm/web")
	s.kubectl("delete", "vm/last", "--timeout", patience.String())
	if s.machines() != "web" {
		t.Errorf("there is %q", s.machines())
	}
}

const pair = `---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: several}
spec: {count: 2, classRef: {name: small}, imageRef: {name: ubuntu}}
`

// running are the names of the machines that run.
func (s *story) running() string {
	var names []string
	s.pve.Do(func(st *pvesim.State) {
		for _, id := range slices.Sorted(maps.Keys(st.VMs)) {
			if vm := st.VMs[id]; vm.Run != nil {
				names = append(names, vm.Name())
			}
		}
	})
	return strings.Join(names, " ")
}

// Who deletes a namespace deletes everything at once: the login goes last, and no
// machine is left.
func TestTheLoginGoesAfterTheMachines(t *testing.T) {
	t.Parallel()
	s := begin(t)
	o := s.operate("--alone")
	s.provide()
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	s.until("the Secret is held", func() bool { return s.field("secret/pve-credentials", ".metadata.finalizers") != "" })
	o.Stop()
	s.kubectl("delete", "secret/pve-credentials", "vmclass/small", "vmimage/ubuntu", "vm/web", "provider/proxmox", "--wait=false")
	s.operate("--alone") // it knows nothing but what is written down
	s.waitFor("--for=delete", "vm/web", "provider/proxmox", "secret/pve-credentials", "vmclass/small", "vmimage/ubuntu")
	if s.machines() != "" {
		t.Errorf("there is still %s", s.machines())
	}
}

// A login that is gone all the same is told by each object that needs it.
func TestEachObjectSaysThatItsLoginIsGone(t *testing.T) {
	t.Parallel()
	s := begin(t)
	o := s.operate("--alone")
	s.provide()
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	o.Stop()
	secret := s.kubectl("get", "secret/pve-credentials", "-o", "yaml")
	s.lose("secret/pve-credentials")
	s.operate("--alone")
	for _, name := range []string{"vm/web", "vmimage/ubuntu"} {
		s.waits(name, "Provider proxmox can't be used: spec.credentialSecretRef.name: there is no Secret pve-credentials")
		s.waitFor("--for=condition=Ready=false", name)
	}
	s.apply(secret)
	s.waitFor("--for=condition=Ready", "vm/web", "vmimage/ubuntu", "provider/proxmox")
}

func TestAProtectedMachineGoesWhenItIsNoLonger(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web", "protection: true"))
	s.waitFor("--for=condition=Ready", "vm/web")
	s.kubectl("delete", "vm", "web", "--wait=false")
	s.waits("vm/web", "destroy VM \\d+.*it is protected")
	s.kubectl("patch", "vm", "web", "--type=merge", "-p", `{"spec":{"protection":false}}`)
	s.waitFor("--for=delete", "vm/web")
	if s.machines() != "" {
		t.Errorf("there is still %s", s.machines())
	}
	// To leave the field out says the same.
	s.apply(machine("web", "protection: true"))
	s.waitFor("--for=condition=Ready", "vm/web")
	s.kubectl("delete", "vm", "web", "--wait=false")
	s.waits("vm/web", "destroy VM \\d+.*it is protected.*: set spec.protection: false")
	s.kubectl("patch", "vm", "web", "--type=merge", "-p", `{"spec":{"protection":null}}`)
	s.waitFor("--for=delete", "vm/web")
	if s.machines() != "" {
		t.Errorf("there is still %s", s.machines())
	}
}

func TestAClassAndAnImageInUseStay(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	for _, object := range []string{"vmclass/small", "vmimage/ubuntu"} {
		s.kubectl("delete", object, "--wait=false")
		s.waits(object, "^1 machine uses it; it goes when none does")
	}
	s.kubectl("annotate", "vm", "web", "look=again")
	s.waitFor("--for=condition=Ready", "vm/web")
	s.kubectl("delete", "vm", "web", "--timeout", patience.String())
	s.waitFor("--for=delete", "vmclass/small", "vmimage/ubuntu")
}

// A machine is asked to shut down before it is destroyed.
func TestADeletedMachineShutsDown(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web") + machine("quick", "deletionGracePeriodSeconds: 0"))
	s.waitFor("--for=condition=Ready", "vm/web", "vm/quick")
	s.kubectl("delete", "vm", "web", "quick", "--timeout", patience.String())
	var types []string
	s.pve.Do(func(st *pvesim.State) {
		for _, tasks := range st.Tasks {
			for _, task := range tasks {
				types = append(types, task.Type)
			}
		}
	})
	if !slices.Contains(types, "qmshutdown") || !slices.Contains(types, "qmstop") {
		t.Errorf("the tasks are %v", types)
	}
}

// What is paused, or only observed, is left as it is, and says what would be done.
func TestWhatIsPausedIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web", "tags: [one]") + machine("db", "tags: [one]"))
	s.waitFor("--for=condition=Ready", "vm/web", "vm/db")
	s.kubectl("annotate", "vm", "web", "infra.virtrigaud.io/paused=true")
	s.kubectl("annotate", "vm", "db", "infra.virtrigaud.io/management-policy=Observe")
	s.apply(machine("web", "tags: [two]") + machine("db", "tags: [two]"))
	s.waits("vm/web", "it is paused by the annotation infra.virtrigaud.io/paused; to be done is: configure VM")
	s.waits("vm/db", "it is only observed.*; to be done is: configure VM")
	s.kubectl("delete", "vm", "db", "--wait=false")
	s.waits("vm/db", "to be done is: shut VM .*, destroy VM")
	s.kubectl("annotate", "provider", "proxmox", "infra.virtrigaud.io/paused=true")
	s.kubectl("annotate", "vm", "web", "infra.virtrigaud.io/paused-")
	s.waits("vm/web", "its Provider is paused by the annotation infra.virtrigaud.io/paused; to be done is: configure VM")
	if tags := s.conf("web", "tags"); !strings.Contains(tags, "one") || strings.Contains(tags, "two") {
		t.Errorf("its tags are %s", tags)
	}
	s.kubectl("annotate", "provider", "proxmox", "infra.virtrigaud.io/paused-")
	s.waitFor("--for=condition=Ready", "vm/web")
	s.kubectl("annotate", "vm", "db", "infra.virtrigaud.io/management-policy-")
	s.waitFor("--for=delete", "vm/db")
	if tags := s.conf("web", "tags"); !strings.Contains(tags, "two") {
		t.Errorf("its tags are %s", tags)
	}
}
