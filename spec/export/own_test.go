package export_test

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/spec/export"
)

// A plan that waits for something to be read has no steps yet. The guest gets its marker all the same: otherwise it would be called adopted,
// and be nobody's.
func TestMarksDontNeedACompletePlan(t *testing.T) {
	want := model.VM{Owner: model.Owner{Door: "vm", Set: "shop", Key: model.Key{Kind: "VirtualMachine", Name: "web"}}}
	g := &model.Guest{VMID: 777, Node: "pve1", Name: "web", Config: &model.Config{Text: "notes", Digest: "abc"}}
	list := export.Marks(plan.Object{Owner: want.Owner, VMID: 777, Look: plan.Look{Bridges: []string{"pve1"}}}, want, g)
	if len(list) != 1 || list[0].Description == nil || !strings.Contains(*list[0].Description, `"set":"shop"`) || !strings.Contains(*list[0].Description, "notes") || list[0].Digest != "abc" {
		t.Errorf("have %+v", list)
	}
}
