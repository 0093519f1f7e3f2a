package status

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/test/kit/golden"
)

func owner(kind, name string) model.Owner {
	return model.Owner{Door: "vm", Set: "shop", Key: model.Key{Kind: kind, Name: name}}
}

// everything is a plan with one object of each sort.
func everything() plan.Plan {
	return plan.Plan{Objects: []plan.Object{
		{Owner: owner("VMImage", "ubuntu-22"), VMID: 9000, Node: "pve1"},
		{
			Owner: owner("VirtualMachine", "web-1"), VMID: 104711, Node: "pve2",
			Placed: "most memory free (54.2 GiB of 64 GiB), and no VM with app=web is there",
			Steps: []plan.Step{
				{N: 1, What: "clone ubuntu-22-template (9000) to VM 104711 on pve2", Why: "virtualmachine/web-1 isn't there", Obvious: true, Effect: plan.New},
				{N: 2, What: "configure it", Why: "2 CPUs, 4 GiB, 1 NIC", Effect: plan.New, After: []int{1}},
				{N: 3, What: "grow scsi0", Diff: []model.Difference{{Verb: model.VerbSet, Field: "scsi0.size", From: "8589934592", To: "42949672960", Effect: plan.New}}, Effect: plan.New, After: []int{2}},
				{N: 4, What: "start it", Why: "powerState is On", Effect: plan.New, After: []int{3}},
			},
		},
		{
			Owner: owner("VirtualMachine", "web-2"), VMID: 104712, Node: "pve1",
			Steps: []plan.Step{{N: 1, What: "configure VM 104712", Diff: []model.Difference{{Verb: model.VerbSet, Field: "memory", From: "2048", To: "4096", Effect: plan.Live}}, Effect: plan.Live}},
			Refused: []plan.Refusal{{
				What: "restart VM 104712", Why: "cores is applied at a restart only", Effect: plan.Restart,
				Allow: model.AllowRestart,
			}},
		},
		{
			Owner: owner("VirtualMachine", "web-3"), VMID: 104713, Node: "pve1",
			Steps: []plan.Step{{N: 1, What: "restart VM 104713", Why: "cores is applied at a restart only", Effect: plan.Restart}},
		},
		{
			Owner: owner("VirtualMachine", "old"), VMID: 104714, Node: "pve3",
			Steps: []plan.Step{
				{N: 1, What: "stop VM 104714", Why: "virtualmachine/old is to go", Obvious: true, Effect: plan.LosesData},
				{N: 2, What: "destroy VM 104714 with its disks", Why: "virtualmachine/old is to go", Obvious: true, Effect: plan.LosesData, After: []int{1}},
			},
		},
		{
			Owner: owner("VMClone", "copy"),
			VMID:  104715, Node: "pve2", Foreseen: true,
			Wait:  &plan.Wait{Reason: model.WaitSource, Text: "virtualmachine/web-1, which it is to be cloned from, isn't there yet"},
			Steps: []plan.Step{{N: 1, What: "copy web-1 (104711) to VM 104715 on pve2", Why: "vmclone/copy isn't there", Obvious: true, Effect: plan.New}},
		},
		{
			Owner: owner("VirtualMachine", "db"),
			Wait:  &plan.Wait{Reason: model.WaitForeign, Text: `VMID 120 is taken by "mail" on pve1, which isn't ours`, Do: model.Advice{Do: model.ImportGuest, VMID: 120}},
		},
		{Owner: owner("VMSnapshot", "before-upgrade"), Gone: true},
	}}
}

func TestPlanReadsWell(t *testing.T) {
	golden.Compare(t, "plan.txt", Page{}.Plan(everything()))
	golden.Compare(t, "plan-80.txt", Page{Width: 80}.Plan(everything()))
	golden.Compare(t, "plan-all.txt", Page{All: true}.Plan(everything()))
	golden.Compare(t, "plan-colour.txt", Page{Paint: Paint{On: true}, Width: 80}.Plan(everything()))
	golden.Compare(t, "plan-empty.txt", Page{}.Plan(plan.Plan{Objects: everything().Objects[:1]}))
}

func TestPlanFitsTheScreen(t *testing.T) {
	for line := range strings.Lines(Page{Width: 80}.Plan(everything())) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

func TestPlanForMachines(t *testing.T) {
	b, err := json.MarshalIndent(CLI.ViewOf(everything()), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "plan.json", string(b)+"\n")
}

func TestOutcomesHaveConditions(t *testing.T) {
	var b strings.Builder
	objects := everything().Objects
	objects = append(objects,
		plan.Object{Owner: owner("VirtualMachine", "unread"), Look: plan.Look{Configs: []int{100}}},
		plan.Object{Owner: owner("VirtualMachine", "failed"), Wait: &plan.Wait{Reason: model.WaitFailed, Text: "clone failed: no space left", Do: model.Advice{Text: "free space on the storage, or name another one"}}},
		plan.Object{Owner: owner("VirtualMachine", "restart"), Refused: objects[2].Refused},
		plan.Object{Owner: owner("VirtualMachine", "silent"), Wait: &plan.Wait{Reason: model.WaitAgent, Text: "VM 100 runs, and its guest agent hasn't reported an address yet"}},
	)
	objects = append(objects, plan.Object{Owner: owner("VirtualMachine", "smaller"), Refused: []plan.Refusal{{What: "shrink scsi0", Why: "40 GiB → 20 GiB, which Proxmox can't do", Effect: plan.LosesData}}})
	for _, o := range objects {
		out := CLI.Of(o)
		b.WriteString(Name(o.Owner.Key) + ": " + string(out.State) + "\n")
		for _, c := range out.Conditions() {
			b.WriteString("  " + c.Type + "=" + c.Status + " " + string(c.Reason) + ": " + c.Message + "\n")
		}
	}
	golden.Compare(t, "conditions.txt", b.String())
}

func TestNotesAreShownOfObjectsThatAreUpToDate(t *testing.T) {
	o := plan.Object{Owner: model.Owner{Key: model.Key{Kind: "VMClone", Name: "copy"}}, VMID: 7, Node: "pve1", Notes: []plan.Note{{Text: "it stays as virtualmachine/a was"}}}
	got := Page{}.Plan(plan.Plan{Objects: []plan.Object{o}})
	const want = "= clone/copy  VM 7 on pve1  up to date\n    · it stays as vm/a was\n\nNothing to do: 1 object up to date.\n"
	if got != want {
		t.Errorf("have\n%s\nwant\n%s", got, want)
	}
	if got := CLI.Of(o).Message; got != "up to date; it stays as vm/a was" {
		t.Errorf("the message is %q", got)
	}
}
