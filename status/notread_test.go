package status

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// What wasn't read isn't ready: not in the counts, not in the heading, not for programs.
func TestMachinesOfWhichNotAllWasReadArentUpToDate(t *testing.T) {
	image := plan.Object{Owner: owner("VMImage", "ubuntu"), VMID: 9000, Node: "pve1"}
	unasked := plan.Object{Owner: owner("VirtualMachine", "web"), VMID: 100, Node: "pve1", Unasked: true}
	unread := plan.Object{Owner: owner("VirtualMachine", "db"), VMID: 101, Node: "pve1", Unread: true}
	changed := plan.Object{Owner: owner("VirtualMachine", "new"), Steps: []plan.Step{{N: 1, What: "clone it", Effect: plan.New}}}
	for _, c := range []struct {
		reason  string
		objects []plan.Object
		quick   bool
		want    string
	}{
		{"all was read", []plan.Object{image}, false, "Nothing to do: 1 object up to date.\n"},
		{"agents weren't asked", []plan.Object{image, unasked}, false, "Nothing to do: 1 object up to date, 1 not verified.\nNot looked at: whether 1 guest agent reports an address; apply and wait do that.\n"},
		{"nothing else is there", []plan.Object{unread}, true, "Nothing to do: 1 object not verified.\nNot looked at because of --quick: "},
		{"beside changes", []plan.Object{image, unasked, changed}, false, "Plan: 1 to make, 1 up to date, 1 not verified.\nNot looked at: whether 1 guest agent "},
	} {
		p := plan.Plan{Objects: c.objects}
		if got := (Page{}).Plan(p) + (Page{}).NotRead(p, c.quick); !strings.Contains(got, c.want) {
			t.Errorf("%s: have\n%swant\n%s", c.reason, got, c.want)
		}
	}
	for _, o := range []plan.Object{unasked, unread} {
		if v := CLI.Of(o); v.State != model.StateUnread || v.Reason != model.ReasonUnread {
			t.Errorf("%s: %+v", o.Owner.Name, v)
		}
		if v := Wanted(nil, o); v.Ready != nil {
			t.Errorf("%s: ready is %v", o.Owner.Name, *v.Ready)
		}
		if line := (Page{All: true}).Object(o); !strings.Contains(line, "not verified") || strings.Contains(line, "up to date") {
			t.Error(line)
		}
	}
}
