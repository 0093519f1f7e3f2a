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

func TestALongListOfPathsMakesAShortText(t *testing.T) {
	have := &model.Observed{Release: 9, Held: granted("/: VM.Config.Network*"), Rights: map[string]map[string]bool{}}
	for vlan := range 9 {
		have.Rights[fmt.Sprint("/sdn/zones/localnetwork/vmbr1/", vlan+2)] = map[string]bool{}
	}
	p := starts(100)
	p.Objects[0].Steps[0].Action = model.Configure{Target: model.Target{Node: "pve1", VMID: 100}, NICs: []model.NIC{{Slot: "net0", Bridge: "vmbr1", Options: map[string]string{"trunks": "2-4094"}}}}
	w := privileges.Foresee(p, model.Desired{}, have).Objects[0].Wait
	if w == nil || len(w.Lacks) != 4093 {
		t.Fatalf("got %+v", w)
	}
	if len(w.Text) > 1000 || !strings.HasSuffix(w.Text, "and privileges on 4088 more paths (start it)") {
		t.Errorf("%d bytes: %.2000s", len(w.Text), w.Text)
	}
}

// TestWhatAPoolAllowsIsDoneInThePool: a guest is put into a pool, and the login may start the guests of that.
func TestWhatAPoolAllowsIsDoneInThePool(t *testing.T) {
	have := &model.Observed{Release: 9, Guests: map[int]*model.Guest{100: {VMID: 100, Node: "pve1"}}}
	at := model.Target{Node: "pve1", VMID: 100}
	joins := func() plan.Plan {
		p := starts(100)
		p.Objects[0].Steps = append(p.Objects[0].Steps,
			plan.Step{N: 2, What: "put it into the pool", Action: model.SetPool{VMID: 100, Pool: "team"}},
			plan.Step{N: 3, What: "configure it", Action: model.Configure{Target: at, Set: map[string]string{"cores": "2", "memory": "2048"}}})
		return p
	}
	// What isn't listed for the pool is asked for before anything is done.
	have.Held = granted("/vms/100: VM.Allocate", "/pool: Pool.Allocate*")
	if got := foreseen(joins(), have)[0]; got != "look rights [/pool/team]" {
		t.Errorf("got %q", got)
	}
	have.Rights = map[string]map[string]bool{"/pool/team": {"Pool.Allocate": true, "VM.PowerMgmt": true, "VM.Config.CPU": true, "VM.Config.Memory": true}}
	o := privileges.Foresee(joins(), model.Desired{}, have).Objects[0]
	if len(o.Steps) != 3 || !slices.Equal(o.Steps[0].After, []int{2}) || o.Steps[1].After != nil || !slices.Equal(o.Steps[2].After, []int{2}) {
		t.Errorf("got %+v, %+v", o.Wait, o.Steps)
	}
}

// TestBridgesAreJudgedByTheirNames: which zone a bridge is in may not be visible, and every guest may have a path.
func TestBridgesAreJudgedByTheirNames(t *testing.T) {
	for _, c := range []struct{ reason, held, want string }{
		{"on the bridge", "/sdn/zones/localnetwork/vmbr0: SDN.Use", ""},
		{"on all bridges", "/sdn/zones: SDN.Use*", ""},
		{"of a zone", "/sdn/zones/localnetwork: SDN.Use*", ""},
		{"of that name in another zone", "/sdn/zones/other/vmbr0: SDN.Use", ""},
		{"on a VLAN of it", "/sdn/zones/localnetwork/vmbr0/10: SDN.Use", ""},
		{"another bridge", "/sdn/zones/localnetwork/vmbr01: SDN.Use", "look rights [/sdn/zones/localnetwork/vmbr0]"},
		{"a zone that doesn't spread", "/sdn/zones/localnetwork: SDN.Use", "look rights [/sdn/zones/localnetwork/vmbr0]"},
		{"a guest", "/vms/100: SDN.Use", "look rights [/sdn/zones/localnetwork/vmbr0]"},
		{"nothing on it", "/sdn/zones/localnetwork/vmbr0: SDN.Audit", "lacks SDN.Use on /sdn/zones/localnetwork/vmbr0"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			have := &model.Observed{Release: 9, Held: granted("/: VM.Config.Network*", c.held)}
			if c.reason == "a guest" {
				have.Held.Paths["/vms/100"]["VM.Config.Network"] = true
			}
			p := starts(100)
			p.Objects[0].Steps[0].Action = model.Configure{Target: model.Target{Node: "pve1", VMID: 100}, NICs: []model.NIC{{Slot: "net0", Bridge: "vmbr0"}}}
			if got := foreseen(p, have)[0]; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestCPUModelsAreLeftToProxmox: from which release on it takes a privilege of its own isn't known, and none is checked for a
// model that a guest has already.
func TestCPUModelsAreLeftToProxmox(t *testing.T) {
	for _, release := range []int{8, 9} {
		have := &model.Observed{Release: release, Held: granted("/vms/100: VM.Config.CPU", "/nodes/pve1: Sys.PowerMgmt", "/mapping: Mapping.Audit*", "/mapping/cpu/mine: Mapping.Audit")}
		p := starts(100)
		p.Objects[0].Node = "pve1"
		p.Objects[0].Steps[0].Action = model.Configure{Target: model.Target{Node: "pve1", VMID: 100}, Set: map[string]string{"cpu": "custom-mine,flags=+aes"}}
		if got := foreseen(p, have)[0]; got != "" {
			t.Errorf("%d: got %q", release, got)
		}
	}
}
