package plan

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
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
		out, err := exec.Command(sh, "-c", "kubectl() { :; }; "+takeOver(is, was)).CombinedOutput()
		if err != nil || strings.Contains(string(out), "pwned") {
			t.Errorf("%q: %s ran %s (%v)", uid, takeOver(is, was), out, err)
		}
	}
}
