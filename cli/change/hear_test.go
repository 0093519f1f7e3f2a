package change

import (
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Of too many machines no guest agent is asked, and none of them is called up to date.
func TestMachinesWhoseAgentsArentAskedArentVerified(t *testing.T) {
	waits := plan.Object{Owner: model.Owner{Key: model.Key{Kind: "VirtualMachine", Name: "web"}}, VMID: 100, Look: plan.Look{Agents: []int{100}}}
	changes := waits
	changes.Steps = []plan.Step{{N: 1}}
	got := unasked(plan.Plan{Objects: []plan.Object{waits, changes, {VMID: 9000}}}).Objects
	if o := got[0]; !o.Unasked || o.Verified() || !o.Ready() {
		t.Errorf("a machine that an address is waited for: %+v", o)
	}
	if o := got[1]; o.Unasked || len(o.Steps) != 1 {
		t.Errorf("a machine that is changed: %+v", o)
	}
	if o := got[2]; !o.Verified() {
		t.Errorf("an object without an agent: %+v", o)
	}
}
