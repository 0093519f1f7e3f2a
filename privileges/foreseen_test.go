package privileges_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/privileges"
)

// granted is what Proxmox says to GET /access/permissions: "path: priv priv*", where * holds below, too.
func granted(lines ...string) *model.Held {
	h := &model.Held{Paths: map[string]map[string]bool{}}
	for _, line := range lines {
		path, privs, _ := strings.Cut(line, ": ")
		h.Paths[path] = map[string]bool{}
		for p := range strings.FieldsSeq(privs) {
			name, below := strings.CutSuffix(p, "*")
			h.Paths[path][name] = below
		}
	}
	return h
}

// starts is a plan that starts some guests.
func starts(vmids ...int) plan.Plan {
	var p plan.Plan
	for _, id := range vmids {
		a := model.Start{Target: model.Target{Node: "pve1", VMID: id}}
		p.Objects = append(p.Objects, plan.Object{
			Owner: model.Owner{Key: model.Key{Kind: "VirtualMachine", Name: fmt.Sprint("vm-", id)}}, VMID: id, Node: "pve1",
			Steps: []plan.Step{{N: 1, What: "start it", Action: a}},
		})
	}
	return p
}

func TestOnlyWhatIsCertainlyMissingIsRefused(t *testing.T) {
	for _, c := range []struct {
		reason string
		held   *model.Held
		rights map[string]map[string]bool
		pool   string
		want   string // what is read next, or why it waits; empty: it is done
	}{
		{reason: "what these credentials may do is read first", want: "look privileges"},
		{reason: "Proxmox doesn't say", held: &model.Held{}},
		{reason: "on the guest", held: granted("/vms/100: VM.PowerMgmt")},
		{reason: "from above", held: granted("/vms: VM.PowerMgmt*")},
		{reason: "from far above", held: granted("/: VM.PowerMgmt*", "/vms: VM.Audit*")},
		{reason: "by its pool", held: granted("/pool/team: VM.PowerMgmt"), pool: "team"},
		{reason: "what is on a path hides what is above", held: granted("/: VM.PowerMgmt*", "/vms/100: VM.Audit"), want: "lacks VM.PowerMgmt on /vms/100"},
		{reason: "what doesn't spread may still come from elsewhere", held: granted("/vms: VM.PowerMgmt"), want: "look rights [/vms/100]"},
		{reason: "what isn't listed is asked for", held: granted(), want: "look rights [/vms/100]"},
		{reason: "asked for, and there", held: granted(), rights: map[string]map[string]bool{"/vms/100": {"VM.PowerMgmt": true}}},
		{reason: "asked for, and not there", held: granted(), rights: map[string]map[string]bool{"/vms/100": {"VM.Audit": true}}, want: "lacks VM.PowerMgmt on /vms/100"},
		{reason: "asked for, and there is no answer", held: granted(), rights: map[string]map[string]bool{"/vms/100": nil}},
		{reason: "another guest's pool", held: granted("/pool/team: VM.PowerMgmt", "/vms/100: VM.Audit"), want: "lacks VM.PowerMgmt on /vms/100"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			have := &model.Observed{Release: 9, Held: c.held, Rights: c.rights, Guests: map[int]*model.Guest{100: {VMID: 100, Node: "pve1", Pool: c.pool}}}
			if got := foreseen(starts(100), have)[0]; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// foreseen is what becomes of each object of a plan.
func foreseen(p plan.Plan, have *model.Observed) []string {
	var out []string
	for _, o := range privileges.Foresee(p, model.Desired{}, have).Objects {
		text := ""
		switch {
		case o.Wait != nil && len(o.Steps) == 0:
			for _, l := range o.Wait.Lacks {
				text += fmt.Sprintf("lacks %s on %s", strings.Join(l.Privs, " "), l.Path)
			}
		case o.Look.Held:
			text = "look privileges"
		case len(o.Look.Rights) > 0:
			text = fmt.Sprint("look rights ", o.Look.Rights)
		}
		out = append(out, text)
	}
	return out
}

func TestWhatWasReadAWhileAgoRefusesNothing(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	have := &model.Observed{Release: 9, Held: granted("/vms/100: VM.Audit"), At: at.Add(time.Minute)}
	have.Held.At = at
	if got := foreseen(starts(100), have)[0]; got != "look privileges" {
		t.Errorf("got %q: somebody may have granted it since", got)
	}
}

func TestAThousandMachinesThatLackTheSameTakeAFewRequests(t *testing.T) {
	var ids []int
	for i := range 1000 {
		ids = append(ids, 1000+i)
	}
	have := &model.Observed{Release: 9, Held: granted("/vms: VM.Audit*")}
	asked := map[string]bool{}
	for _, o := range privileges.Foresee(starts(ids...), model.Desired{}, have).Objects {
		if len(o.Look.Rights) == 0 {
			t.Fatalf("%s is done without a look", o.Owner.Key)
		}
		for _, path := range o.Look.Rights {
			asked[path] = true
		}
	}
	if len(asked) > 10 {
		t.Errorf("%d requests", len(asked))
	}
	have.Rights = map[string]map[string]bool{}
	for path := range maps.Keys(asked) {
		have.Rights[path] = map[string]bool{"VM.Audit": true}
	}
	for i, got := range foreseen(starts(ids...), have) {
		if want := fmt.Sprintf("lacks VM.PowerMgmt on /vms/%d", ids[i]); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	// Proxmox decides where the few that were asked for aren't alike.
	one := slices.Sorted(maps.Keys(asked))[0]
	have.Rights[one] = map[string]bool{"VM.PowerMgmt": true}
	if got := foreseen(starts(ids...), have)[len(ids)-1]; got != "" {
		t.Errorf("got %q", got)
	}
}
