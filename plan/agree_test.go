package plan

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

func TestOnlyWhatWasShownIsAgreedTo(t *testing.T) {
	at := model.Target{VMID: 100, Node: "pve1"}
	web, db := owner("VirtualMachine", "web"), owner("VirtualMachine", "db")
	live := Step{N: 1, Action: model.Configure{Target: at}, What: "configure VM 100", Why: "tags x", Effect: Live}
	restart := Step{N: 2, Action: model.Reboot{Target: at}, What: "restart VM 100", Why: "cores is applied at a restart only", Effect: Restart, After: []int{1}}
	start := Step{N: 3, Action: model.Start{Target: at}, What: "start VM 100", Effect: Live, After: []int{2}}
	drop := func(slots ...string) Step {
		return Step{N: 1, Action: model.Configure{Target: at, Delete: slots}, What: "configure VM 100", Why: "memory 1 → 2 MiB", Effect: LosesData}
	}
	stop := Step{N: 1, Action: model.Stop{Target: at}, What: "stop VM 100", Effect: LosesData}
	destroy := Step{N: 2, Action: model.Destroy{Target: at, Owner: web}, What: "destroy VM 100 with its disks", Effect: LosesData, After: []int{1}}
	replace := Step{N: 1, Action: model.Destroy{Target: at, Owner: web}, What: "destroy VM 100 with its disks", Effect: Replace}
	unsnap := Step{N: 1, Action: model.Unsnap{Target: at, Name: "x"}, What: "delete snapshot x", Effect: LosesData}
	back := func(name string) Step {
		return Step{N: 1, Action: model.Rollback{Target: at, Name: name}, What: "roll VM 100 back to " + name, Effect: LosesData}
	}
	for _, c := range []struct {
		reason      string
		allow       model.Allow
		shown, come []Step
		owner       model.Owner // of what comes; default: web
		done        []int       // which of the steps that come
	}{
		{reason: "what doesn't hurt needs no agreement", come: []Step{live}, done: []int{1}},
		{reason: "what was shown is done", shown: []Step{live, restart, start}, come: []Step{live, restart, start}, done: []int{1, 2, 3}},
		{reason: "a restart is a restart, whatever for", shown: []Step{restart}, come: []Step{{N: 1, Action: model.Reboot{Target: at}, Why: "memory", Effect: Restart}}, done: []int{1}},
		{reason: "what comes before a restart is done, what comes after it isn't", come: []Step{live, restart, start}, done: []int{1}},
		{reason: "the restart of one isn't that of another", shown: []Step{restart}, come: []Step{restart}, owner: db},
		{reason: "a flag agrees to all restarts", allow: model.Allow{Restart: true}, come: []Step{live, restart}, done: []int{1, 2}},
		{reason: "another flag doesn't", allow: model.Allow{Replace: true, Data: true}, come: []Step{restart}},
		{reason: "the same disk goes", shown: []Step{drop("scsi1", "net1")}, come: []Step{drop("scsi1")}, done: []int{1}},
		{reason: "another disk would go", shown: []Step{drop("scsi1")}, come: []Step{drop("scsi1", "scsi2")}},
		{reason: "a disk may go by a flag", allow: model.Allow{Data: true}, come: []Step{drop("scsi1")}, done: []int{1}},
		{reason: "what was stopped when it was shown may be running now", shown: []Step{destroy}, come: []Step{stop, destroy}, done: []int{1, 2}},
		{reason: "nothing is done to a guest whose end wasn't agreed to", come: []Step{live, stop, destroy}},
		{reason: "that a disk may go doesn't mean that guests may", allow: model.Allow{Data: true}, come: []Step{stop, destroy}},
		{reason: "nor that snapshots may", allow: model.Allow{Data: true}, come: []Step{unsnap}},
		{reason: "a guest may be made anew by a flag", allow: model.Allow{Replace: true}, come: []Step{replace}, done: []int{1}},
		{reason: "a guest isn't made anew without", come: []Step{replace}},
		{reason: "a snapshot that was shown is gone back to", shown: []Step{back("x")}, come: []Step{back("x")}, done: []int{1}},
		{reason: "another one isn't", shown: []Step{back("x")}, come: []Step{back("y")}},
		{reason: "it may be gone back to by a flag", allow: model.Allow{Data: true}, come: []Step{back("x")}, done: []int{1}},
		{reason: "that guests may restart doesn't mean that disks may go", allow: model.Allow{Restart: true}, come: []Step{drop("scsi1")}},
		{reason: "that disks may go doesn't mean that guests may be made anew", allow: model.Allow{Data: true}, come: []Step{{N: 1, Action: model.Configure{Target: at, Delete: []string{"scsi1"}}, Effect: Replace}}},
		{reason: "a loss that is no disk's is refused too", come: []Step{drop("net1")}},
		{reason: "nothing is done beside a loss that wasn't agreed to", come: []Step{back("x"), {N: 2, Action: model.Reboot{Target: at}, Effect: Restart}, {N: 3, Action: model.Configure{Target: at}, Effect: Live}}},
		{reason: "what doesn't come after a refused restart is done", come: []Step{{N: 1, Action: model.Reboot{Target: at}, Effect: Restart}, {N: 2, Action: model.Configure{Target: at}, Effect: Live}}, done: []int{2}},
	} {
		a := Agreement{Allow: c.allow}
		a.Add(Plan{Objects: []Object{{Owner: web, Steps: c.shown}}})
		o := Object{Owner: c.owner, Steps: c.come}
		if o.Owner == (model.Owner{}) {
			o.Owner = web
		}
		got := a.Limit(o)
		var done []int
		for _, s := range got.Steps {
			done = append(done, s.N)
		}
		if !slices.Equal(done, c.done) {
			t.Errorf("%s: does %v, want %v", c.reason, done, c.done)
		}
		if refused := len(got.Refused) > 0; refused != (len(c.done) < len(c.come)) {
			t.Errorf("%s: refused %v", c.reason, got.Refused)
		}
		for _, r := range got.Refused {
			if !r.Late || r.Allow == "" {
				t.Errorf("%s: %+v doesn't say what to do", c.reason, r)
			}
		}
		if len(o.Steps) != len(c.come) || len(o.Refused) != 0 {
			t.Errorf("%s: the plan itself has changed", c.reason)
		}
	}
}
