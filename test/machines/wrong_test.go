package machines_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// warned reports whether there is a warning about a Machine with some words.
func (s *story) warned(machine, words string) bool {
	s.t.Helper()
	var events corev1.EventList
	if err := kube.List(s.t.Context(), &events, client.InNamespace(s.namespace)); err != nil {
		s.t.Fatal(err)
	}
	return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
		return e.Type == corev1.EventTypeWarning && e.InvolvedObject.Name == machine && strings.Contains(e.Message, words)
	})
}

func message(m machine) (reason, text string) {
	if m.Status.ErrorReason != nil && m.Status.ErrorMessage != nil {
		return string(*m.Status.ErrorReason), *m.Status.ErrorMessage
	}
	return "", ""
}

// instance is the message of the condition of a Machine's guest.
func instance(m machine) string {
	for _, c := range m.Status.Conditions {
		if c.Type == "InstanceReady" {
			return c.Message
		}
	}
	return ""
}

func TestWhatIsWrongIsSaidAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	releases := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/v1.30.1/") {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(releases.Close)
	s := begin(t, "--kubelet-releases", releases.URL)
	s.secret("wrong", "c0ffee00-0000-4000-8000-00000000dead")
	cases := map[string]struct {
		pool         pool
		reason, want string
	}{
		"token":    {pool{secret: "wrong"}, "CreateError", "Proxmox refuses the login"},
		"missing":  {pool{kubelet: "1.30.99"}, "InvalidConfiguration", "there is no kubelet 1.30.99"},
		"secret":   {pool{secret: "nobodys"}, "InvalidConfiguration", "there is no Secret"},
		"key":      {pool{spec: []string{"proxyURL: {secretKeyRef: {namespace: NAMESPACE, name: proxmox, key: proxy}}"}}, "InvalidConfiguration", `has no key "proxy"`},
		"template": {pool{template: 9999}, "InvalidConfiguration", "9999"},
		"small":    {pool{disk: 4}, "InvalidConfiguration", "8 GiB"},
		"newer":    {pool{kubelet: "1.99.0"}, "InvalidConfiguration", "newer than the API server"},
		"version":  {pool{kubelet: "latest"}, "InvalidConfiguration", "want a version such as"},
		"unknown":  {pool{spec: []string{"memoryMb: 4"}}, "InvalidConfiguration", "did you mean memoryMB?"},
		"storage":  {pool{spec: []string{"storage: nowhere", "fullClone: true"}}, "", "nowhere"},
		"node":     {pool{spec: []string{"nodes: [pve9]"}}, "", "pve9"},
	}
	for name, c := range cases {
		c.pool.name, c.pool.replicas = name, 1
		s.apply(strings.ReplaceAll(s.pool(c.pool), "NAMESPACE", s.namespace))
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		var of string
		s.until(name+" says what is wrong: "+c.want, func() bool {
			return slices.ContainsFunc(s.list(), func(m machine) bool {
				reason, text := message(m)
				of = m.Name
				return m.Labels["pool"] == name && reason != "" && (c.reason == "" || reason == c.reason) && strings.Contains(text, c.want) && strings.Contains(instance(m), c.want) &&
					m.Status.Phase != nil && *m.Status.Phase == "Failed"
			})
		})
		s.until(name+" has a warning", func() bool { return s.warned(of, c.want) })
	}
	if len(s.guests()) > 0 || len(s.volumes()) > 0 {
		t.Errorf("left: %v %v", s.guests(), s.volumes())
	}
	for name := range cases {
		s.scale(name, 0)
	}
	s.until("the Machines go", func() bool { return len(s.machines()) == 0 })
	s.nothingLeft()
}

func TestAMachineStaysAsItWasMade(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.apply(s.pool(pool{name: "md", replicas: 1}))
	s.until("it runs", func() bool { return s.phases()["Joining"] == 1 })
	name := s.machines()[0]
	s.change(&clusterv1alpha1.Machine{}, name, `{"spec":{"providerSpec":{"value":{"cloudProviderSpec":{"memoryMB":4096}}}}}`)
	s.until("it says so", func() bool {
		reason, text := message(s.list()[0])
		return reason == "UnsupportedChange" && strings.Contains(text, "change the MachineDeployment") && s.warned(name, "stays as it was made")
	})
	s.pve.Do(func(st *pvesim.State) {
		if vm := sim.VM(st, name); vm == nil || vm.Conf["memory"] != "1024" {
			t.Errorf("the guest was changed: %v", vm)
		}
	})
	s.scale("md", 0)
	s.until("it goes all the same", func() bool { return len(s.guests()) == 0 && len(s.machines()) == 0 })
}

func TestAGuestThatSomebodyDeletesIsReplaced(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.apply(s.pool(pool{name: "md", replicas: 1}))
	s.until("it runs", func() bool { return s.phases()["Joining"] == 1 })
	was := s.machines()[0]
	for _, call := range []struct{ method, path string }{{"POST", "/status/stop"}, {"DELETE", ""}} {
		if err := s.pve.Touch(t.Context(), was, call.method, call.path, nil); err != nil {
			t.Fatal(err)
		}
	}
	s.until("another one takes its place", func() bool {
		now := s.machines()
		return len(now) == 1 && now[0] != was && slices.Equal(s.guests(), now)
	})
	if !s.warned(was, "is gone from Proxmox") {
		t.Error("nobody says so")
	}
}

func TestAMachineThatNeverJoinsIsReplaced(t *testing.T) {
	t.Parallel()
	s := begin(t, "--join-cluster-timeout", "3s")
	s.apply(s.pool(pool{name: "md", replicas: 1}))
	s.until("there is a machine", func() bool { return len(s.machines()) == 1 })
	was := s.machines()[0]
	s.until("another one takes its place", func() bool { return !slices.Contains(s.machines(), was) && len(s.machines()) == 1 })
	if !s.warned(was, "didn't become a node within 3s") {
		t.Error("nobody says so")
	}
}

func TestATemplateThatComesLater(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.apply(s.pool(pool{name: "md", replicas: 1, template: 9001, more: "progressDeadlineSeconds: 3"}))
	s.until("it says that the template isn't there", func() bool {
		return len(s.list()) == 1 && func() bool { _, text := message(s.list()[0]); return strings.Contains(text, "9001") }()
	})
	s.until("the MachineDeployment says that it stands still, and why", func() bool {
		reason, text := s.progress("md")
		return reason == "ProgressDeadlineExceeded" && strings.Contains(text, "9001") && s.warned("md", "nothing has changed for 3s")
	})
	if err := s.pve.Call(t.Context(), "POST", "/nodes/pve1/qemu/9000/clone", pve.Params{"newid": "9001", "name": "another", "full": "1"}); err != nil {
		t.Fatal(err)
	}
	if err := s.pve.Call(t.Context(), "POST", "/nodes/pve1/qemu/9001/template", nil); err != nil {
		t.Fatal(err)
	}
	s.until("it is made by itself", func() bool { reason, _ := message(s.list()[0]); return s.phases()["Joining"] == 1 && reason == "" })
}

// progress is what the condition Progressing of a MachineDeployment says.
func (s *story) progress(name string) (reason, text string) {
	s.t.Helper()
	d := &unstructured.Unstructured{}
	d.SetGroupVersionKind(clusterv1alpha1.SchemeGroupVersion.WithKind("MachineDeployment"))
	if err := kube.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, d); err != nil {
		s.t.Fatal(err)
	}
	list, _, _ := unstructured.NestedSlice(d.Object, "status", "conditions")
	for _, one := range list {
		if c, ok := one.(map[string]any); ok && c["type"] == "Progressing" {
			return fmt.Sprint(c["reason"]), fmt.Sprint(c["message"])
		}
	}
	return "", ""
}

// MachineSets take away the newest or the oldest machine as they are told, or one that is marked.
func TestDeletePoliciesOfMachineSets(t *testing.T) {
	t.Parallel()
	s := begin(t)
	set := func(name, policy string, replicas int) {
		t.Helper()
		text := s.pool(pool{name: name, replicas: replicas})
		s.apply(strings.Replace(strings.Replace(text, "kind: MachineDeployment", "kind: MachineSet", 1), "  selector:", "  deletePolicy: "+policy+"\n  selector:", 1))
	}
	of := func(name string) (names []string) {
		for _, m := range s.list() {
			if m.Labels["pool"] == name {
				names = append(names, m.Name)
			}
		}
		return names
	}
	policies := []string{"Newest", "Oldest"}
	first := map[string]string{}
	for _, policy := range policies {
		name := strings.ToLower(policy)
		set(name, policy, 1)
		s.until("there is a machine", func() bool { return len(of(name)) == 1 })
		first[name] = of(name)[0]
	}
	// Machines are told apart by their age in seconds.
	s.until("a second has passed", func() bool {
		return !slices.ContainsFunc(s.list(), func(m machine) bool { return time.Since(m.CreationTimestamp.Time) < 2*time.Second })
	})
	for _, policy := range policies {
		set(strings.ToLower(policy), policy, 2)
	}
	s.until("there are two of each", func() bool { return len(of("newest")) == 2 && len(of("oldest")) == 2 && len(s.guests()) == 4 })
	for _, policy := range policies {
		set(strings.ToLower(policy), policy, 1)
	}
	s.until("there is one of each", func() bool { return len(of("newest")) == 1 && len(of("oldest")) == 1 && len(s.guests()) == 2 })
	if of("newest")[0] != first["newest"] || of("oldest")[0] == first["oldest"] {
		t.Errorf("%v are left, and %v were first", s.machines(), first)
	}
}

func TestATokenIsRevokedAndRotated(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.apply(s.pool(pool{name: "md", replicas: 1}))
	s.until("it runs", func() bool { return s.phases()["Joining"] == 1 })
	const path = "/access/users/me@pve/token/laptop"
	if err := s.pve.Root.Call(t.Context(), "DELETE", path, nil, nil); err != nil {
		t.Fatal(err)
	}
	s.scale("md", 2)
	s.until("they say that the login is refused", func() bool {
		return slices.ContainsFunc(s.list(), func(m machine) bool {
			return slices.ContainsFunc(m.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Reason == "LoginRefused" })
		})
	})
	var token struct {
		Value string `json:"value"`
	}
	if err := s.pve.Root.Call(t.Context(), "POST", path, pve.Params{"privsep": "0"}, &token); err != nil {
		t.Fatal(err)
	}
	s.secret("proxmox", token.Value)
	s.until("the new token is taken", func() bool { return s.phases()["Joining"] == 2 && len(s.guests()) == 2 })
	if log := s.operators[0].Log(); strings.Contains(log, token.Value) || strings.Contains(log, sim.TokenSecret) {
		t.Error("a token is in the log")
	}
}

func TestAMachineIsLetGoByForce(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.apply(s.pool(pool{name: "md", replicas: 1}))
	s.until("it runs", func() bool { return s.phases()["Joining"] == 1 })
	name := s.machines()[0]
	if err := s.pve.Root.Call(t.Context(), "DELETE", "/access/users/me@pve/token/laptop", nil, nil); err != nil {
		t.Fatal(err)
	}
	s.scale("md", 0)
	s.until("it says why it stays, and what can be done", func() bool {
		if len(s.list()) != 1 {
			return false
		}
		reason, text := message(s.list()[0])
		return reason == "DeleteError" && strings.Contains(text, fmt.Sprintf("kubectl annotate -n %s machine %s machines.proxplane.io/force-delete=true", s.namespace, name))
	})
	s.change(&clusterv1alpha1.Machine{}, name, `{"metadata":{"annotations":{"machines.proxplane.io/force-delete":"true"}}}`)
	s.until("it goes", func() bool { return len(s.machines()) == 0 })
	if !slices.Equal(s.guests(), []string{name}) {
		t.Errorf("guests %v", s.guests())
	}
}

func TestMachinesOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.apply(strings.Replace(s.pool(pool{name: "aws", replicas: 1}), "cloudProvider: proxmox", "cloudProvider: aws", 1))
	s.until("it says so", func() bool { return len(s.machines()) == 1 && s.warned(s.machines()[0], `cloudProvider is "aws"`) })
	if m := s.list()[0]; len(m.Finalizers) > 0 || len(s.guests()) > 0 {
		t.Errorf("%v, guests %v", m.Finalizers, s.guests())
	}
}
