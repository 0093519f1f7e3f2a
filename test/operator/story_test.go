package operator_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/await"
	"github.com/proxplane/proxplane/test/kit/child"
	"github.com/proxplane/proxplane/test/kit/example"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// story is a namespace with a Proxmox of its own.
type story struct {
	t         *testing.T
	namespace string
	pve       *sim.Server
	dir       string
	env       []string // of operators, beside the usual
	operators []*child.Process
}

var stories atomic.Int64

// patience is how long something may take that should happen.
const patience = 5 * time.Minute

// begin begins a story on a quick world that is as late and as uneven as real ones.
func begin(t *testing.T, change ...func(*pvesim.World)) *story {
	t.Helper()
	w := pvesim.DefaultWorld()
	sim.Quick(w)
	sim.Uneven(w)
	for _, c := range change {
		c(w)
	}
	return beginOn(t, w)
}

// beginAlone begins one in which an operator is at work and has its Provider.
func beginAlone(t *testing.T, change ...func(*pvesim.World)) *story {
	t.Helper()
	s := begin(t, change...)
	s.operate("--alone")
	s.provide()
	return s
}

func beginOn(t *testing.T, w *pvesim.World) *story {
	t.Helper()
	s := &story{t: t, namespace: fmt.Sprintf("story-%d", stories.Add(1)), dir: t.TempDir()}
	s.pve = s.serve(w)
	s.kubectl("create", "namespace", s.namespace)
	t.Cleanup(s.end)
	return s
}

// serve starts a Proxmox.
func (s *story) serve(w *pvesim.World, options ...pvesim.Option) *sim.Server {
	s.t.Helper()
	server, err := sim.Start(w, options...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			s.t.Logf("simulator: %v", err)
		}
	})
	return server
}

// end shows what the operators said when the story went wrong.
func (s *story) end() {
	for _, p := range s.operators {
		p.Stop()
		if s.t.Failed() {
			s.t.Logf("%s:\n%s", p.Name, p.Log())
		}
	}
	if s.t.Failed() {
		out, _ := plane.Kubectl(context.Background(), "-n", s.namespace, "get", "virtrigaud", "-o", "wide").CombinedOutput()
		s.t.Logf("objects:\n%s", out)
		out, _ = plane.Kubectl(context.Background(), "-n", s.namespace, "events").CombinedOutput()
		s.t.Logf("events:\n%s", out)
	}
}

// kubectl runs it in the story's namespace, and wants it to succeed.
func (s *story) kubectl(args ...string) string {
	s.t.Helper()
	return s.must("", args...)
}

// must runs kubectl with an input, and wants it to succeed.
func (s *story) must(input string, args ...string) string {
	s.t.Helper()
	out, err := s.try(input, args...)
	if err != nil {
		s.t.Fatalf("kubectl %s: %v\n%s\n%s", strings.Join(args, " "), err, out, input)
	}
	return out
}

// try runs kubectl with an input.
func (s *story) try(input string, args ...string) (string, error) {
	cmd := plane.Kubectl(s.t.Context(), append([]string{"-n", s.namespace}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// apply applies manifests.
func (s *story) apply(manifests string) {
	s.t.Helper()
	if out, err := s.try(manifests, "apply", "-f", "-"); err != nil {
		s.t.Fatalf("kubectl apply: %v\n%s\n%s", err, out, manifests)
	}
}

// provide applies the Provider of the story's Proxmox.
func (s *story) provide() { s.apply(s.pve.Provider("proxmox", "pve-credentials")) }

// waitFor waits for conditions or fields, as kubectl does: vm/web --for=condition=Ready.
func (s *story) waitFor(args ...string) {
	s.t.Helper()
	s.kubectl(append([]string{"wait", "--timeout", patience.String()}, args...)...)
}

// field is a field of an object.
func (s *story) field(object, path string) string {
	s.t.Helper()
	r, err := reading()
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := r.field(s.t.Context(), s.namespace, object, path)
	if err != nil {
		s.t.Fatalf("read %s of %s: %v", path, object, err)
	}
	return text
}

// until waits until something holds that kubectl can't wait for.
func (s *story) until(what string, holds func() bool) {
	s.t.Helper()
	await.Until(s.t, patience, what, holds)
}

// waits waits until an object tells that it waits for something.
func (s *story) waits(object, pattern string) {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	last := ""
	s.until(object+" waits for "+pattern, func() bool {
		now := s.field(object, ".status.waiting")
		if now != last {
			s.t.Logf("%s: %s", object, now)
		}
		last = now
		return re.MatchString(last)
	})
}

// machines are the names of all machines in Proxmox but the template, each as often
// as it is there.
func (s *story) machines() string { return machinesOf(s.pve) }

func machinesOf(server *sim.Server) string {
	var names []string
	server.Do(func(st *pvesim.State) {
		for _, id := range slices.Sorted(maps.Keys(st.VMs)) {
			if vm := st.VMs[id]; vm.Conf["template"] == "" {
				names = append(names, vm.Name())
			}
		}
	})
	return strings.Join(names, " ")
}

// vm looks at, or changes, a machine in Proxmox.
func (s *story) vm(name string, do func(*pvesim.State, *pvesim.VM)) {
	s.t.Helper()
	s.pve.Do(func(st *pvesim.State) {
		vm := sim.VM(st, name)
		if vm == nil {
			s.t.Errorf("there is no machine %s", name)
			return
		}
		do(st, vm)
	})
}

// conf is an option of a machine in Proxmox.
func (s *story) conf(name, key string) (value string) {
	s.t.Helper()
	s.vm(name, func(_ *pvesim.State, vm *pvesim.VM) { value = vm.Conf[key] })
	return value
}

// machine is the manifest of a machine made from the template of the default world,
// with its class and image.
func machine(name string, more ...string) string {
	return fmt.Sprintf(`---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 2, memory: 2Gi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu}
spec: {source: ubuntu-22-template}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: %s}
spec:
  classRef: {name: small}
  imageRef: {name: ubuntu}
  %s
`, name, strings.Join(more, "\n  "))
}

// applyByHand applies manifests by the command line, to another Proxmox.
func (s *story) applyByHand(server *sim.Server, folder string) {
	s.t.Helper()
	file := func(name string, text []byte) string {
		path := filepath.Join(s.dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			s.t.Fatal(err)
		}
		return path
	}
	login := []string{"--token-id", sim.TokenID, "--token-file", file("token", []byte(sim.TokenSecret))}
	if example.NeedsRoot(folder) {
		login = []string{"--username", "root@pam", "--password-file", file("password", []byte("proxplane"))}
	}
	cmd := proxplane(s.t.Context(), s.t, append([]string{
		"apply", "-f", folder, "--yes", "--allow-restart", "--endpoint", server.Endpoint, "--ca-file", file("ca.pem", sim.CA()),
	}, login...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("proxplane apply -f %s: %v\n%s", folder, err, out)
	}
}
