package terraform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

func TestFailuresAreTold(t *testing.T) {
	for want, err := range map[string]error{
		"The provider's block can't be used": &blockError{errors.New("the CA has no certificates")},
		"It was interrupted":                 fmt.Errorf("look: %w", context.Canceled),
		"web was interrupted":                &site.AwaitError{Outcome: site.Outcome{Owner: model.Owner{Key: model.Key{Name: "web"}}}, Err: context.Canceled},
		"Proxmox can't be used":              errors.New("connection refused"),
	} {
		if got, _ := failure(fmt.Errorf("plan: %w", err)); got != want {
			t.Errorf("%v is told as %q, want %q", err, got, want)
		}
	}
}

// A VMID that was chosen for a machine isn't a VM yet.
func TestNothingIsSaidOfAVMThatIsNotThere(t *testing.T) {
	for status, there := range map[model.Status]bool{"": false, model.StatusStopped: true, model.StatusUnknown: true} {
		o := site.Outcome{Owner: model.Owner{Key: model.Key{Kind: "VirtualMachine", Name: "web"}}, VMID: 104, Status: status, State: engine.StateFailed, Text: "no node can take it"}
		if _, detail := failure(&site.AwaitError{Outcome: o}); strings.Contains(detail, "VM 104 stays as it is") != there {
			t.Errorf("with status %q: %s", status, detail)
		}
	}
}
