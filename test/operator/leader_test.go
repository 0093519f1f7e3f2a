package operator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/child"
)

// leader waits until one of the operators works, and says which.
func (s *story) leader() (working, idle *child.Process) {
	s.t.Helper()
	s.until("somebody leads", func() bool {
		working, idle = nil, nil
		for _, p := range s.operators {
			if strings.Contains(p.Log(), "this replica works now") {
				working = p
			} else {
				idle = p
			}
		}
		return working != nil
	})
	return working, idle
}

// Whoever works is killed at different moments of a creation; the other one goes on,
// and there is one machine of each.
func TestKillingTheLeaderLeavesOneMachine(t *testing.T) {
	t.Parallel()
	for _, moment := range []struct {
		name string
		when func(*story) bool
	}{
		{"when the VMID is chosen", func(s *story) bool { return s.field("vm/web", ".status.vmid") != "" }},
		{"while the clone runs", func(s *story) bool { return s.field("vm/web", ".status.task") != "" }},
		{"when the machine is there", func(s *story) bool { s.release(); return s.machines() != "" }},
		{"when it is being configured", func(s *story) bool {
			s.release()
			done := false
			s.pve.Do(func(st *pvesim.State) {
				for _, vm := range st.VMs {
					done = done || vm.Name() == "web" && strings.Contains(vm.Conf["tags"], "proxplane")
				}
			})
			return done
		}},
	} {
		t.Run(moment.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, heldClones)
			s.operate("--log-level", "info")
			s.operate("--log-level", "info")
			working, idle := s.leader()
			if working == nil || idle == nil {
				t.Fatal("both work, or nobody")
			}
			s.provide()
			s.apply(machine("web"))
			s.until(moment.name, func() bool { return moment.when(s) })
			working.Kill()
			s.until("the other one takes over", func() bool { return strings.Contains(idle.Log(), "this replica works now") })
			s.goesOn("vm/web")
			if s.machines() != "web" {
				t.Errorf("there is %q", s.machines())
			}
		})
	}
}

func TestAnOperatorThatIsStoppedHandsOverAtOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, heldClones)
	// Nobody could take over in time what wasn't handed over.
	s.operate("--log-level", "info", "--lease-duration", "1h", "--renew-deadline", "50m")
	s.operate("--log-level", "info", "--lease-duration", "1h", "--renew-deadline", "50m")
	working, _ := s.leader()
	s.provide()
	s.apply(machine("web"))
	s.waitFor("--for=jsonpath={.status.task}", "vm/web")
	working.Stop()
	begun := time.Now()
	s.until("the Lease changes hands", func() bool { return s.field("lease/proxplane", ".spec.leaseTransitions") == "1" })
	t.Logf("the other one took over after %s", time.Since(begun).Round(time.Second))
	s.goesOn("vm/web")
	if s.machines() != "web" {
		t.Errorf("there is %q", s.machines())
	}
}

// Not beside others, since they share the API server.
func TestTheAPIServerComesBack(t *testing.T) {
	s := begin(t, heldClones)
	operator := s.operate("--alone")
	s.provide()
	s.apply(machine("web"))
	s.waitFor("--for=jsonpath={.status.task}", "vm/web")
	plane.StopAPI()
	if err := plane.StartAPI(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.apply(machine("db"))
	s.goesOn("vm/web")
	s.goesOn("vm/db")
	if names := s.machines(); len(strings.Fields(names)) != 2 {
		t.Errorf("there is %q", names)
	}
	select {
	case <-operator.Done:
		t.Error("the operator has ended")
	default:
	}
}

func TestReplicasAreReadyWhenTheyHaveAllObjects(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.operate("--log-level", "info")
	s.leader()
	ports := freeAddresses(t, 2)
	s.operate("--health-address", ports[0], "--metrics-address", ports[1]) // it doesn't lead
	s.until("it is ready", func() bool { return get(t, "http://"+ports[0]+"/readyz") == "ok" })
	if got := get(t, "http://"+ports[0]+"/healthz"); got != "ok" {
		t.Errorf("healthz says %s", got)
	}
	if got := get(t, "http://"+ports[1]+"/metrics"); !strings.Contains(got, "go_goroutines") {
		t.Errorf("metrics are %s", fmt.Sprintf("%.200s", got))
	}
}

// An operator that may not read one of the kinds is alive, and not ready before it may.
func TestAReplicaThatLacksObjectsIsNotReady(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.allow("providers", "virtualmachines", "vmclasses", "vmclones", "vmimages", "vmplacementpolicies")
	ports := freeAddresses(t, 1)
	s.operate("--alone", "--cluster-name", "limited", "--kubeconfig", s.limited(), "--health-address", ports[0])
	s.until("it is alive", func() bool { return get(t, "http://"+ports[0]+"/healthz") == "ok" })
	s.until("it says what is lacking", func() bool { return strings.Contains(s.operators[0].Log(), "vmsnapshots") })
	if got := get(t, "http://"+ports[0]+"/readyz"); got == "ok" || got == "" {
		t.Errorf("readyz says %q", got)
	}
	s.allow("providers", "virtualmachines", "vmclasses", "vmclones", "vmimages", "vmplacementpolicies", "vmsnapshots")
	s.until("it is ready", func() bool { return get(t, "http://"+ports[0]+"/readyz") == "ok" })
}

// allow lets a user of the story's name do everything to some kinds in the story's
// namespace, and read what objects refer to.
func (s *story) allow(kinds ...string) {
	s.t.Helper()
	s.apply(fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: limited}
rules:
  - {apiGroups: [infra.virtrigaud.io], resources: [%s], verbs: ["*"]}
  - {apiGroups: [""], resources: [secrets, configmaps], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: limited}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: limited}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]
`, strings.Join(kinds, ", "), s.namespace))
}

// limited is a kubeconfig of that user.
func (s *story) limited() string {
	s.t.Helper()
	admin, err := os.ReadFile(plane.Kubeconfig)
	if err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.dir, "limited.kubeconfig")
	text := strings.Replace(string(admin), "user: {token:", "user: {as: "+s.namespace+", token:", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return file
}
