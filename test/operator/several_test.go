package operator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/itself"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// twoProviders begins a story in which a namespace has two Providers, each with a
// machine.
func twoProviders(t *testing.T) (s *story, west *sim.Server) {
	t.Helper()
	s = begin(t)
	w := pvesim.DefaultWorld()
	sim.Quick(w)
	sim.Uneven(w)
	west = s.serve(w)
	s.operate("--alone")
	s.apply(s.pve.Provider("east", "east-login"))
	s.apply(west.Provider("west", "west-login"))
	s.apply(machine("web", "providerRef: {name: east}"))
	s.apply(machine("db", "providerRef: {name: west}"))
	s.waitFor("--for=condition=Ready", "vm/web", "vm/db")
	return s, west
}

// What is of which Provider, the objects say; who asks for something else has to.
func TestKubectlKnowsWhichProviderIsMeant(t *testing.T) {
	t.Parallel()
	s, west := twoProviders(t)
	bin := s.plugins()
	if s.machines() != "web" || machinesOf(west) != "db" {
		t.Fatalf("there is %q and %q", s.machines(), machinesOf(west))
	}
	for vm, server := range map[string]*sim.Server{"web": s.pve, "db": west} {
		name := "before-" + vm
		s.does(bin, "create", "vmsnapshot", name, "--vm="+vm)
		s.waitFor("--for=condition=Ready", "vmsnapshot/"+name)
		server.Do(func(st *pvesim.State) {
			if sim.VM(st, vm).Snaps[name] == nil {
				t.Errorf("%s has no snapshot", vm)
			}
		})
		if said := s.does(bin, "proxplane", "console", vm); !strings.Contains(said, server.Endpoint) || !strings.Contains(said, "vmname="+vm) {
			t.Errorf("the console of %s is %s", vm, said)
		}
		if said := s.does(bin, "proxplane", "describe", "vm/"+vm); !strings.Contains(said, "UpToDate") {
			t.Errorf("%s is %s", vm, said)
		}
		if said := s.does(bin, "proxplane", "describe", "vmsnapshot/"+name); !strings.Contains(said, name) {
			t.Errorf("%s is %s", name, said)
		}
	}
	if said := s.does(bin, "proxplane", "plan", "--all", "--detailed-exitcode"); !strings.Contains(said, "/web ") || !strings.Contains(said, "/db ") {
		t.Errorf("the plan is %s", said)
	}
	if said := s.does(bin, "proxplane", "plan", "--all", "--provider", "west"); strings.Contains(said, "/web ") || !strings.Contains(said, "/db ") {
		t.Errorf("the plan of one is %s", said)
	}
	said := s.does(bin, "proxplane", "doctor")
	for _, want := range []string{"east", "west", s.pve.Endpoint, west.Endpoint} {
		if !strings.Contains(said, want) {
			t.Errorf("the doctor doesn't say %s:\n%s", want, said)
		}
	}
	// The image is on both.
	s.refuses(`has several Providers.*--provider`, bin, "proxplane", "describe", "image/ubuntu")
	s.does(bin, "proxplane", "describe", "image/ubuntu", "--provider", "east")
	s.refuses(`has no "nobody"|has several Providers`, bin, "proxplane", "describe", "vm/nobody")
	s.refuses(`--provider nowhere: namespace .* has only east, west`, bin, "proxplane", "plan", "--provider", "nowhere")

	// A machine that somebody has made by hand is on one of them.
	if err := west.Touch(t.Context(), "ubuntu-22-template", "POST", "/clone", pve.Params{"newid": "321", "name": "by-hand"}); err != nil {
		t.Fatal(err)
	}
	west.Settle()
	s.refuses(`has several Providers.*--provider`, bin, "proxplane", "import", "321", "--yes")
	s.refuses(`321`, bin, "proxplane", "import", "321", "--yes", "--provider", "east")
	s.does(bin, "proxplane", "import", "321", "--yes", "--provider", "west")
	s.waitFor("--for=condition=Ready", "vm/by-hand")
	if of := s.field("vm/by-hand", ".spec.providerRef.name"); of != "west" {
		t.Errorf("it is of %s", of)
	}
	// One that can't be reached keeps nobody from the other.
	s.kubectl("patch", "secret", "west-login", "--type=merge", "-p", `{"stringData":{"token_secret":"wrong"}}`)
	s.does(bin, "proxplane", "console", "web")
	out, complaint, err := s.plugin(bin, "proxplane", "plan", "--all")
	if err == nil || !strings.Contains(out, "/web ") || !strings.Contains(complaint, "provider/west") {
		t.Errorf("%v: the plan is %s%s", err, out, complaint)
	}
}

// kubectl and its plugins find the same Kubernetes and the same namespace.
func TestPluginsFindKubernetesAsKubectlDoes(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	bin := s.plugins()
	s.apply(several("2", "Never"))
	s.waitFor("--for=condition=Ready", "vm/web")
	// One file has the cluster, one who we are, and a third one what belongs together.
	admin, err := os.ReadFile(plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	const head = "apiVersion: v1\nkind: Config\n"
	_, parts, _ := strings.Cut(string(admin), "clusters:")
	cluster, rest, _ := strings.Cut(parts, "users:")
	user, _, _ := strings.Cut(rest, "contexts:")
	var files []string
	for name, text := range map[string]string{
		"cluster": "clusters:" + cluster, "user": "users:" + user,
		"contexts": fmt.Sprintf("current-context: elsewhere\ncontexts:\n  - {name: elsewhere, context: {cluster: test, user: admin, namespace: default}}\n  - {name: here, context: {cluster: test, user: admin, namespace: %s}}\n", s.namespace),
	} {
		path := filepath.Join(s.dir, name+".kubeconfig")
		if err := os.WriteFile(path, []byte(head+text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	run := func(args ...string) (string, error) {
		cmd := plane.Kubectl(t.Context(), args...)
		list := string(filepath.ListSeparator)
		cmd.Env = append(cmd.Env, itself.As, "KUBECONFIG="+strings.Join(files, list), "PATH="+bin+list+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, c := range []struct {
		args []string
		want string // empty: it fails
	}{
		{[]string{"proxplane", "console", "web-2", "--context", "here"}, "vmname=web-2"},
		{[]string{"proxplane", "console", "web-2", "-n", s.namespace}, "vmname=web-2"},
		{[]string{"proxplane", "plan", "--context", "here"}, "Nothing to do"},
		{[]string{"proxplane", "plan"}, "there is no Provider in namespace default"},
		{[]string{"proxplane", "plan", "--context", "here", "-n", "kube-system"}, "there is no Provider in namespace kube-system"},
		{[]string{"proxplane", "plan", "--context", "nowhere"}, `context "nowhere" does not exist`},
		{[]string{"create", "vmsnapshot", "of-one", "--vm=web-2", "--context", "here"}, "vmsnapshot.infra.virtrigaud.io/of-one created"},
		{[]string{"create", "vmsnapshot", "of-all", "--vm=web", "--context", "here"}, "there are web-1, web-2"},
		{[]string{"create", "vmsnapshot", "lost", "--vm=web-2"}, "there is no such machine in namespace default; there is none"},
	} {
		if out, err := run(c.args...); !strings.Contains(out, c.want) {
			t.Errorf("kubectl %s: %v\n%s\nwant %s", strings.Join(c.args, " "), err, out, c.want)
		}
	}
	s.waitFor("--for=condition=Ready", "vmsnapshot/of-one")
	s.kubectl("delete", "vmsnapshot", "of-one", "--timeout", patience.String())
}
