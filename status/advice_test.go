package status

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// A marker's UID is what somebody wrote into the notes of a VM.
func TestCommandsToPasteRunNothingThatOthersWrote(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	is := model.Owner{Door: "vm", Set: "default", Key: model.Key{Kind: "VirtualMachine", Name: "web"}, UID: "u-2"}
	for _, uid := range []string{"u-1", "x; echo pwned", "$(echo pwned)", "`echo pwned`", "x'; echo pwned; '", "x\necho pwned", "--all"} {
		was := is
		was.UID, was.Set = uid, uid
		out, err := exec.Command(sh, "-c", "kubectl() { :; }; "+takeOver(model.Advice{Owner: is, Former: was})).CombinedOutput()
		if err != nil || strings.Contains(string(out), "pwned") {
			t.Errorf("%q: %s ran %s (%v)", uid, takeOver(model.Advice{Owner: is, Former: was}), out, err)
		}
	}
}

// Whoever reads the status of an object has kubectl, and no flags of ours.
func TestEveryAdviceIsInTheWordsOfItsDoor(t *testing.T) {
	var (
		flag    = regexp.MustCompile(`(^|[\s(])--[a-z]`)
		command = regexp.MustCompile(`(^|[\s(])proxplane [a-z]`)
		kubectl = regexp.MustCompile(`kubectl( [^ ;,]+)+`)
	)
	owner := model.Owner{Set: "shop", Key: model.Key{Kind: "VirtualMachine", Namespace: "web", Name: "web-1"}, UID: "u-2"}
	for _, do := range model.Dos {
		a := model.Advice{Do: do, VMID: 120, Node: "pve2", Owner: owner, Former: owner}
		for w, name := range map[Words]string{CLI: "CLI", Kubernetes: "Kubernetes"} {
			texts := []string{w.Advice(a), w.Note(plan.Note{Text: "so it is", Do: a}), w.Of(plan.Object{Wait: &plan.Wait{Reason: model.WaitForeign, Text: "so it is", Do: a}}).Message}
			if w.Consent(do) != "" {
				for _, e := range []plan.Effect{plan.Restart, plan.Replace, plan.LosesData, plan.PowerOff} {
					texts = append(texts, w.Of(plan.Object{Refused: []plan.Refusal{{What: "do it", Why: "so it is", Effect: e, Allow: do, Pending: plan.Pending{Keys: []string{"net0"}}}}}).Message)
				}
			}
			for _, text := range texts {
				if text == "" || strings.HasPrefix(text, "set ") && w == CLI {
					t.Errorf("%s has no words for %q: %q", name, do, text)
				}
				bare := kubectl.ReplaceAllString(text, "")
				if w == Kubernetes && (flag.MatchString(bare) || command.MatchString(bare)) {
					t.Errorf("%q has words of the command line: %s", do, text)
				}
				if takes := do == model.TakeOver || do == model.TakeOverSnap; w == CLI && !takes && (strings.Contains(text, "kubectl") || strings.Contains(text, "spec.")) {
					t.Errorf("%q has words of Kubernetes: %s", do, text)
				}
			}
		}
	}
}

func TestARestartThatIsNeededIsToldInSizes(t *testing.T) {
	for _, c := range []struct {
		pending model.Pending
		want    string
	}{
		{model.Pending{CPUs: 2, NextCPUs: 4, Memory: 4 << 30, NextMemory: 8 << 30}, "runs with 2 CPUs, 4 GiB; 4 CPUs, 8 GiB apply"},
		{model.Pending{Memory: 4 << 30, NextMemory: 8 << 30}, "runs with 4 GiB; 8 GiB applies"},
		{model.Pending{CPUs: 4, NextCPUs: 2}, "runs with 4 CPUs; 2 CPUs apply"},
		{model.Pending{CPUs: 2, NextCPUs: 1}, "runs with 2 CPUs; 1 CPU applies"},
		{model.Pending{CPUs: 2, NextCPUs: 4, Keys: []string{"machine", "net0"}}, "runs with 2 CPUs; 4 CPUs and the new machine, net0 apply"},
		{model.Pending{Keys: []string{"net0"}}, "the new net0 applies"},
		{model.Pending{Keys: []string{"cpu", "net0"}}, "the new cpu, net0 apply"},
	} {
		got := Kubernetes.Of(plan.Object{Refused: []plan.Refusal{{What: "restart VM 1", Effect: plan.Restart, Allow: model.AllowRestart, Pending: c.pending}}})
		if want := c.want + " at the next restart: restart it, or set spec.updatePolicy.restart: Allow"; got.Message != want || got.Reason != model.WaitRestart {
			t.Errorf("%s (%s), not %s", got.Message, got.Reason, want)
		}
	}
}
