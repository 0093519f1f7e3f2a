package machines_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shell runs lines of the page in a shell that has kubectl, with some variables, and returns what they print.
func (s *story) shell(lines string, variables ...string) string {
	s.t.Helper()
	kubectl := plane.Kubectl(s.t.Context())
	cmd := exec.CommandContext(s.t.Context(), "sh", "-ec", strings.NewReplacer("kube-system", s.namespace, "pool=workers", "pool=md", " workers ", " md ").Replace(lines))
	cmd.Env = append(append(kubectl.Env, "PATH="+filepath.Dir(kubectl.Path)+":"+os.Getenv("PATH")), variables...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", lines, err, out)
	}
	return string(out)
}

// rollouts are the commands of the page, each by its place.
func rollouts(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/machines.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "## Rolling updates")
	_, rest, _ = strings.Cut(rest, "```sh\n")
	block, _, found := strings.Cut(rest, "```")
	list := strings.Split(strings.ReplaceAll(strings.TrimSpace(block), "\n\n", "\n"), "\n")
	if !found || len(list) != 7 {
		t.Fatalf("the page has %d commands", len(list))
	}
	return list
}

// The page says what to do instead of kubectl rollout, which only knows Kubernetes' own kinds.
func TestThePagesCommandsScalePauseAndRollBack(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.joins()
	do := rollouts(t)
	scale, pause, resume, history, undo, replace := do[0], do[1], do[2], do[3], do[4]+"\n"+do[5], do[6]
	s.apply(s.pool(pool{name: "md", replicas: 1}))
	s.until("it is a node", func() bool { return s.kubelets()["1.30.1"] == 1 })
	s.shell(scale)
	s.until("both are nodes", func() bool { return s.kubelets()["1.30.1"] == 2 })

	s.shell(pause)
	s.until("it says that it is paused", func() bool { reason, _ := s.progress("md"); return reason == "Paused" })
	s.apply(s.pool(pool{name: "md", replicas: 2, kubelet: "1.30.2", more: "paused: true"}))
	s.until("the change is seen", func() bool { d := s.deployment("md"); return d.Status.ObservedGeneration == d.Generation })
	if k := s.kubelets(); k["1.30.1"] != 2 {
		t.Errorf("it is rolled though it is paused: %v", k)
	}
	s.shell(resume)
	s.until("the new ones are nodes", func() bool { return s.kubelets()["1.30.2"] == 2 && len(s.machines()) == 2 })

	var old string
	for line := range strings.Lines(s.shell(history)) {
		if f := strings.Fields(line); len(f) == 4 && f[1] == "1" && f[2] == "1.30.1" {
			old = f[0]
		}
	}
	if old == "" {
		t.Fatalf("the first revision isn't in\n%s", s.shell(history))
	}
	s.shell(undo, "MACHINESET="+old)
	s.until("the former ones are back", func() bool { return s.kubelets()["1.30.1"] == 2 && len(s.machines()) == 2 })
	for _, m := range s.list() {
		if !strings.HasPrefix(m.Name, old) {
			t.Errorf("%s isn't of the former MachineSet %s", m.Name, old)
		}
	}
	s.shell(replace)
	s.until("all are other ones", func() bool {
		for _, m := range s.machines() {
			if strings.HasPrefix(m, old) {
				return false
			}
		}
		return s.kubelets()["1.30.1"] == 2 && len(s.machines()) == 2
	})
}
