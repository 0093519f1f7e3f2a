package act_test

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// call is an action, in a world that is a little otherwise.
type call struct {
	name    string
	release string // empty: 9.2
	before  func(l *lab)
	action  model.Action
	known   act.Known
}

func calls() []call {
	disk := func(slot string) model.NewDisk {
		return model.NewDisk{Disk: model.Disk{Slot: slot, Storage: "local", Size: 1 << 30, Format: "qcow2"}}
	}
	note := func(version string) string {
		return model.Describe("x", model.Marker{Owner: us, Version: version})
	}
	snapped := func(l *lab) {
		l.must(model.Configure{Target: at(100), Disks: []model.NewDisk{disk("scsi1")}, Delete: []string{"scsi0"}})
		l.must(model.Snap{Target: at(100), Name: "before", Description: note("")})
	}
	described := func(text string) func(l *lab) {
		return func(l *lab) {
			snapped(l)
			l.sim.Do(func(s *pvesim.State) { s.VMs[100].Conf["description"] = text })
		}
	}
	started := func(l *lab) { l.must(model.Start{Target: at(100)}) }
	underHA := func(l *lab) { l.must(model.SetHA{VMID: 100, HA: &model.HA{}, New: true, Off: true}) }
	rule := func(l *lab, r pve.HARule) {
		if err := l.client.HA().CreateRule(l.t.Context(), r); err != nil {
			l.t.Fatal(err)
		}
	}
	const rulesDigest = "da39a3ee5e6b4b0d3255bfef95601890afd80709" // of none
	ruled := func(l *lab) {
		l.must(model.SetFirewall{Target: at(100), Set: map[string]string{"enable": "1"}, Edits: []model.RuleEdit{
			{Verb: model.RuleInsert, Rule: model.FirewallRule{Type: "in", Action: "DROP"}},
			{Verb: model.RuleInsert, Rule: model.FirewallRule{Type: "in", Action: "ACCEPT", Macro: "HTTPS"}},
			{Verb: model.RuleInsert, Rule: model.FirewallRule{Type: "in", Action: "ACCEPT", Macro: "SSH", Disabled: true, Comment: "later"}},
		}})
	}
	rules := func(kind string) func(l *lab) {
		return func(l *lab) {
			for _, id := range []int{100, 101, 102} {
				l.must(model.SetHA{VMID: id, HA: &model.HA{}, New: true, Off: true})
			}
			rule(l, pve.HARule{ID: "fast", Type: "node-affinity", Nodes: "pve1", Resources: []string{"vm:101"}})
			if kind == "node-affinity" {
				rule(l, pve.HARule{ID: "slow", Type: kind, Nodes: "pve2", Resources: []string{"vm:100", "vm:102"}})
			} else if kind != "" {
				rule(l, pve.HARule{ID: "apart", Type: kind, Affinity: "negative", Resources: []string{"vm:100", "vm:101"}})
			}
		}
	}
	shared := func(l *lab) {
		l.sim.Do(func(s *pvesim.State) { s.Dirs["/srv/data"], s.Dirs["/srv/other"] = true, true })
		l.must(model.MakeShare{Name: "data", Path: "/srv/data", Nodes: []string{"pve1", "pve2"}, New: true, Maker: "us"})
	}
	template := func(l *lab) {
		l.must(model.Create{Target: at(200), Name: "made", Disks: []model.NewDisk{disk("scsi0")}})
		l.must(model.MakeTemplate{Target: at(200)})
	}
	left := model.Left{Node: "pve1", VMID: 555, Volumes: []string{"local:555/vm-555-disk-0.qcow2"}, Watched: true}
	volume := func(l *lab) {
		l.must(model.Create{Target: at(555), Name: "gone", Disks: []model.NewDisk{disk("scsi0")}})
		l.sim.Do(func(s *pvesim.State) { delete(s.VMs, 555) })
	}
	byHand := act.Known{ByHand: "web", Node: "pve1"}
	elsewhere := model.Target{VMID: 201, Node: "pve2"}
	return []call{
		{name: "clone", before: template, action: model.Clone{From: at(200), To: at(201), Name: "copy", Description: note(""), Pool: "a", Storage: "local", Format: "raw"}},
		{name: "clone to another node", before: template, action: model.Clone{From: at(200), To: elsewhere, Name: "copy"}},
		{name: "copy", before: template, action: model.Clone{From: at(200), To: at(201), Name: "copy", Full: true, Storage: "local", Format: "raw"}},
		{name: "copy of a snapshot", before: snapped, action: model.Clone{From: at(100), To: at(201), Name: "copy", Full: true, Snapshot: "before"}},
		{name: "create", action: model.Create{Target: at(200), Name: "made", Description: note(""), Tags: []string{"a", "b"}, Pool: "a", Options: map[string]string{"cores": "2", "bios": ""}, Disks: []model.NewDisk{disk("scsi0")}, NICs: []model.NIC{{Slot: "net0", Model: "virtio", Bridge: "vmbr0", MTU: 1400}}}},
		{name: "create with little", action: model.Create{Target: at(200), Options: map[string]string{"cpu": "flags=+aes", "sshkeys": "", "hostpci0": "mapping=gpu"}}},
		{name: "create with a CPU type", action: model.Create{Target: at(200), Options: map[string]string{"cpu": "cputype=host,flags=+aes"}}},
		{name: "create with a CPU", action: model.Create{Target: at(200), Options: map[string]string{"cpu": "host"}, NICs: []model.NIC{{Slot: "net0", Model: "virtio", MAC: "BC:24:11:00:00:07", Bridge: "vmbr0", VLAN: 5, Firewall: true, Options: map[string]string{"queues": "2", "rate": "3"}}}}},
		{name: "configure", action: model.Configure{Target: at(100), Set: map[string]string{"cores": "2", "onboot": ""}, Delete: []string{"net0", "cpulimit", "net0"}, Tags: new([]string{"b", "a"}), Description: new("text")}},
		{name: "configure away", action: model.Configure{Target: at(100), Delete: []string{"scsi0"}, Tags: new([]string{}), Description: new("")}},
		{name: "configure with a disk that takes long", action: model.Configure{Target: at(100), Slow: true, Disks: []model.NewDisk{disk("scsi1")}}},
		{name: "configure with a disk that doesn't", action: model.Configure{Target: at(100), Disks: []model.NewDisk{disk("scsi1")}}},
		{name: "configure with a drive", action: model.Configure{Target: at(100), Slow: true, Disks: []model.NewDisk{{Disk: model.Disk{Slot: "ide2", Volume: "local:iso/debian.iso", CDROM: true}}}}},
		{name: "configure with an empty drive", action: model.Configure{Target: at(100), Slow: true, Disks: []model.NewDisk{{Disk: model.Disk{Slot: "ide2", Volume: "none", CDROM: true}}}}},
		{name: "grow", action: model.Resize{Target: at(100), Slot: "scsi0", Size: 8 << 30}},
		{name: "move a disk", action: model.MoveDisk{Target: at(100), Slot: "scsi0", Storage: "local", Format: "qcow2"}},
		{name: "migrate", action: model.Migrate{Target: at(100), To: "pve2"}},
		{name: "migrate while it runs", before: started, action: model.Migrate{Target: at(100), To: "pve2", Running: true}},
		{name: "start", action: model.Start{Target: at(100)}},
		{name: "start what was somebody's", action: model.Start{Target: at(101)}, known: act.Known{Node: "pve1", Owner: us}},
		{name: "start by hand", action: model.Start{Target: at(100)}, known: byHand},
		{name: "start another one by hand", action: model.Start{Target: at(101)}, known: byHand},
		{name: "configure by hand", action: model.Configure{Target: at(100), Set: map[string]string{"cores": "2"}}, known: byHand},
		{name: "resume", before: started, action: model.Resume{Target: at(100)}},
		{name: "shut down", before: started, action: model.Shutdown{Target: at(100), Timeout: 30e9, Force: true}},
		{name: "shut down as Proxmox does", before: started, action: model.Shutdown{Target: at(100)}},
		{name: "stop", before: started, action: model.Stop{Target: at(100), Abort: []string{"UPID:pve1:00000001:00000001:00000001:qmshutdown:100:root@pam:", "no task"}}},
		{name: "restart", before: started, action: model.Reboot{Target: at(100), Timeout: 30e9}},
		{name: "destroy", action: model.Destroy{Target: at(100), Owner: us, Owned: true}},
		{name: "destroy what is being destroyed", before: func(l *lab) { l.sim.Do(func(s *pvesim.State) { s.VMs[100].Conf["lock"] = "destroyed" }) }, action: model.Destroy{Target: at(100), Owner: us, Owned: true}},
		{name: "destroy a copy", before: func(l *lab) {
			l.sim.Do(func(s *pvesim.State) {
				s.VMs[100].Conf["description"] = model.Describe("", model.Marker{Owner: us, VMID: 99})
			})
		}, action: model.Destroy{Target: at(100), Owner: us, Owned: true}},
		{name: "release", action: model.Release{Target: at(100), Description: "text", Tags: []string{"b"}}},
		{name: "release with nothing", action: model.Release{Target: at(100)}},
		{name: "make a template", action: model.MakeTemplate{Target: at(100)}},
		{name: "make a base volume", before: template, action: model.MakeTemplate{Target: at(200), Disk: "scsi0"}},
		{name: "take a snapshot", before: snapped, action: model.Snap{Target: at(100), Name: "second", Description: "text", Memory: true}},
		{name: "delete a snapshot", before: snapped, action: model.Unsnap{Target: at(100), Name: "before", Owner: us}},
		{name: "delete a snapshot that is gone", before: snapped, action: model.Unsnap{Target: at(100), Name: "none", Owner: us}},
		{name: "delete a snapshot by hand", before: snapped, action: model.Unsnap{Target: at(100), Name: "before"}, known: byHand},
		{name: "delete a snapshot by hand that is gone", before: snapped, action: model.Unsnap{Target: at(100), Name: "none"}, known: byHand},
		{name: "roll back", before: snapped, action: model.Rollback{Target: at(100), Name: "before", Note: note("again")}},
		{name: "roll back by hand", before: snapped, action: model.Rollback{Target: at(100), Name: "before"}, known: byHand},
		{name: "roll back to where it is", before: snapped, action: model.Rollback{Target: at(100), Name: "before", Note: note("")}},
		{name: "roll back with no note", before: snapped, action: model.Rollback{Target: at(100), Name: "before", Note: "x"}},
		{name: "roll back somebody's guest", before: described("theirs"), action: model.Rollback{Target: at(100), Name: "before", Note: note("again")}},
		{name: "roll back what was rolled back", before: described(model.Describe("mine", model.Marker{Owner: us, Reverts: map[string]string{"before": "again", "other": "1"}})), action: model.Rollback{Target: at(100), Name: "before", Note: note("again")}},
		{name: "roll back what was rolled back for another reason", before: described(model.Describe("mine", model.Marker{Owner: us, Reverts: map[string]string{"before": "once", "other": "1"}})), action: model.Rollback{Target: at(100), Name: "before", Note: note("again")}},
		{name: "fetch", action: model.Download{Node: "pve1", Storage: "local", Content: "import", File: "proxplane-a-b.qcow2", URL: "https://images.example/a.qcow2", Checksum: "aa", Algorithm: "sha256"}},
		{name: "fetch what is packed", action: model.Unpack{Node: "pve1", Storage: "local", File: "proxplane-a-b.qcow2", URL: "https://images.example/a.qcow2.xz", Packing: "xz"}},
		{name: "fetch what isn't there", action: model.Unpack{Node: "pve1", Storage: "local", File: "proxplane-a-b.qcow2", URL: "https://images.example/missing.xz", Packing: "xz"}},
		{name: "fetch what has become another kind", action: model.Unpack{Node: "pve1", Storage: "local", File: "proxplane-a-b.qcow2", URL: "https://images.example/raw.xz", Packing: "xz"}},
		{name: "upload", action: model.UploadSeed{Node: "pve1", Storage: "local", File: "proxplane-100-abc.iso", Files: map[string][]byte{"user-data": []byte("#cloud-config\n")}}},
		{name: "upload what is made for the VMID", action: model.UploadSeed{Node: "pve1", Storage: "local", File: "proxplane-100-abc.iso", Recipe: &model.Recipe{}, For: 100}},
		{name: "copy snippets without SSH", action: model.UploadSnippets{Node: "pve1", For: 100}},
		{name: "remove a file", action: model.RemoveFile{Node: "pve1", Volume: "local:iso/proxplane-100-abc.iso", For: 100}},
		{name: "remove a fetched image", action: model.RemoveFile{Node: "pve1", Volume: "local:import/proxplane-abc-def.qcow2"}},
		{name: "remove a disk that was left", before: volume, action: model.RemoveDisk{Left: left, Volume: left.Volumes[0]}},
		{name: "remove a disk that was left and is gone", action: model.RemoveDisk{Left: left, Volume: left.Volumes[0]}},
		{name: "remove a disk that a guest has", before: func(l *lab) {
			l.must(model.Create{Target: at(555), Name: "gone", Disks: []model.NewDisk{disk("scsi0")}})
		}, action: model.RemoveDisk{Left: left, Volume: left.Volumes[0]}},
		{name: "put under HA", action: model.SetHA{VMID: 100, HA: &model.HA{MaxRestart: 2, MaxRelocate: 3}, New: true}},
		{name: "put under HA, off", action: model.SetHA{VMID: 100, HA: &model.HA{}, New: true, Off: true}},
		{name: "tell HA", before: underHA, action: model.SetHA{VMID: 100, HA: &model.HA{MaxRestart: 2}}},
		{name: "clear an error of HA", before: underHA, action: model.SetHA{VMID: 100, HA: &model.HA{}, Disable: true, Off: true}},
		{name: "take out of HA", before: underHA, action: model.SetHA{VMID: 100}},
		{name: "join a rule", before: rules(""), action: model.SetHA{VMID: 100, HA: &model.HA{Group: "fast"}}},
		{name: "join a rule, and leave another", before: rules("node-affinity"), action: model.SetHA{VMID: 100, HA: &model.HA{Group: "fast"}}},
		{name: "join a rule, and leave another that is about nobody else", before: func(l *lab) {
			rules("")(l)
			rule(l, pve.HARule{ID: "slow", Type: "node-affinity", Nodes: "pve2", Resources: []string{"vm:100"}})
		}, action: model.SetHA{VMID: 100, HA: &model.HA{Group: "fast"}}},
		{name: "join a rule, and stay in one of another kind", before: rules("resource-affinity"), action: model.SetHA{VMID: 100, HA: &model.HA{Group: "fast"}}},
		{name: "join a rule of another kind", before: rules("resource-affinity"), action: model.SetHA{VMID: 102, HA: &model.HA{Group: "apart"}}},
		{name: "join a rule of another kind, and stay in one about nodes", before: func(l *lab) {
			rules("node-affinity")(l)
			rule(l, pve.HARule{ID: "apart", Type: "resource-affinity", Affinity: "negative", Resources: []string{"vm:102", "vm:101"}})
		}, action: model.SetHA{VMID: 100, HA: &model.HA{Group: "apart"}}},
		{name: "join a rule that it is in", before: rules(""), action: model.SetHA{VMID: 101, HA: &model.HA{Group: "fast"}}},
		{name: "join a rule that isn't there", before: rules(""), action: model.SetHA{VMID: 100, HA: &model.HA{Group: "none"}}},
		{name: "join a group", release: "8.4", before: func(l *lab) {
			if err := l.client.HA().CreateGroup(l.t.Context(), pve.HAGroup{ID: "fast", Nodes: "pve1"}); err != nil {
				l.t.Fatal(err)
			}
		}, action: model.SetHA{VMID: 100, HA: &model.HA{Group: "fast"}, New: true}},
		{name: "keep apart", before: rules(""), action: model.KeepApart{VMID: 100, Rule: "apart", Resources: []string{"vm:100", "vm:101"}, New: true}},
		{name: "keep more apart", before: rules("resource-affinity"), action: model.KeepApart{VMID: 100, Rule: "apart", Resources: []string{"vm:100", "vm:101", "vm:102"}}},
		{name: "turn the firewall on, after its rules", action: model.SetFirewall{Target: at(100), Set: map[string]string{"enable": "1"}, Unset: []string{"dhcp"}, RulesDigest: rulesDigest, Edits: []model.RuleEdit{
			{Verb: model.RuleInsert, Rule: model.FirewallRule{Type: "in", Action: "ACCEPT", Macro: "SSH", Disabled: true}},
			{Verb: model.RuleInsert, Rule: model.FirewallRule{Type: "in", Action: "DROP"}}, {Verb: model.RuleEnable, At: 1},
		}}},
		{name: "turn the firewall off, before its rules go", before: ruled, action: model.SetFirewall{Target: at(100), Set: map[string]string{"enable": "0"}, OptionsFirst: true, Edits: []model.RuleEdit{{Verb: model.RuleRemove, At: 1}}}},
		{name: "change rules of a firewall only", before: ruled, action: model.SetFirewall{Target: at(100), Edits: []model.RuleEdit{
			{Verb: model.RuleMove, At: 0, To: 1}, {Verb: model.RuleMove, At: 2, To: 0}, {Verb: model.RuleMove, At: 1, To: 1},
			{Verb: model.RuleEnable, At: 0}, {Verb: model.RuleSet, At: 1, Rule: model.FirewallRule{Type: "in", Action: "ACCEPT", Macro: "HTTP"}, Drop: []string{"comment"}},
		}}},
		{name: "drop options of a firewall only", before: ruled, action: model.SetFirewall{Target: at(100), Unset: []string{"enable"}}},
		{name: "change rules that somebody has changed", before: ruled, action: model.SetFirewall{Target: at(100), RulesDigest: rulesDigest, Set: map[string]string{"enable": "1"}, Edits: []model.RuleEdit{{Verb: model.RuleRemove, At: 0}}}},
		{name: "read a file in a guest that is off", action: model.ReadFile{Target: at(100), Owner: us, File: "/etc/hostname"}},
		{name: "run a program in a guest that is off", action: model.Exec{Target: at(100), Owner: us, Command: []string{"true"}}},
		{name: "put into a pool", action: model.SetPool{VMID: 100, Pool: "a"}},
		{name: "put into another pool", before: func(l *lab) { l.must(model.SetPool{VMID: 100, Pool: "a"}) }, action: model.SetPool{VMID: 100, Pool: "b", From: "a"}},
		{name: "take out of a pool", before: func(l *lab) { l.must(model.SetPool{VMID: 100, Pool: "a"}) }, action: model.SetPool{VMID: 100, From: "a"}},
		{name: "change a mapping", before: shared, action: model.MakeShare{Name: "data", Path: "/srv/other", Nodes: []string{"pve1"}, Maker: "us"}},
		{name: "make a mapping", before: shared, action: model.MakeShare{Name: "more", Path: "/srv/other", Nodes: []string{"pve1", "pve2"}, Maker: "us", New: true}},
		{name: "remove a mapping", before: shared, action: model.RemoveShare{Name: "data", Maker: "us"}},
		{name: "remove a mapping of others", before: shared, action: model.RemoveShare{Name: "data", Maker: "them"}},
		{name: "remove a mapping of others that is described by our name", before: func(l *lab) {
			shared(l)
			if err := l.client.Mapping().CreateDir(l.t.Context(), pve.NewDirMapping{ID: "theirs", Description: "us", Map: []string{"node=pve1,path=/srv/data"}}); err != nil {
				l.t.Fatal(err)
			}
		}, action: model.RemoveShare{Name: "theirs", Maker: "us"}},
		{name: "remove a mapping that is gone", action: model.RemoveShare{Name: "data", Maker: "us"}},
		{name: "take options away", before: func(l *lab) { l.must(model.Configure{Target: at(100), Set: map[string]string{"cores": "2"}}) }, action: model.Detach{Target: at(100), Options: []string{"cores"}}},
	}
}

var passing = regexp.MustCompile(`UPID:\S+|\b[0-9a-f]{40}\b|boundary=\S+`)

// asked writes down what was asked of Proxmox since a request.
func (l *lab) askedSince(b *strings.Builder, before int) {
	for _, r := range l.sim.Requests(before) {
		at, err := url.Parse(r.URL)
		if err != nil {
			l.t.Fatal(err)
		}
		params := maps.Clone(r.Params)
		if params == nil {
			params = map[string]string{}
		}
		for k, v := range at.Query() {
			params[k] = strings.Join(v, ",")
		}
		line := r.Method + " " + strings.TrimPrefix(at.Path, "/api2/json")
		for _, k := range slices.Sorted(maps.Keys(params)) {
			line += fmt.Sprintf(" %s=%q", k, params[k])
		}
		b.WriteString(passing.ReplaceAllString("  "+line, "…") + "\n")
	}
}

// one does a call, with all requests broken from the nth on; 0: none. It returns how many it takes.
func (c call) one(t *testing.T, b *strings.Builder, from int) (requests int) {
	release := c.release
	if release == "" {
		release = "9.2"
	}
	inLab(t, release, func(t *testing.T, l *lab) {
		if _, err := l.client.Version(t.Context()); err != nil { // logs in
			t.Fatal(err)
		}
		if c.before != nil {
			c.before(l)
		}
		action, before := l.seen(c.action), l.sim.RequestCount()
		l.broken.from = from
		res, err := l.actor.Do(t.Context(), action, c.known)
		l.broken.from = 0
		requests = l.sim.RequestCount() - before
		switch {
		case from > 0 && err == nil:
			fmt.Fprintf(b, "  broken at %d: done\n", from)
		case from > 0:
			fmt.Fprintf(b, "  broken at %d: %s\n", from, passing.ReplaceAllString(err.Error(), "…"))
		default:
			l.askedSince(b, before)
			f := ""
			if err != nil {
				f = fmt.Sprintf("  error: %s (class %d)\n", passing.ReplaceAllString(err.Error(), "…"), act.Judge(err).Class)
			} else if res.Task != "" {
				f = "  a task\n"
			}
			b.WriteString(f)
		}
	})
	return requests
}

// TestWhatEachActionAsksOfProxmox: the requests of each action, and what is said when one of them fails: nothing more is asked then.
func TestWhatEachActionAsksOfProxmox(t *testing.T) {
	var b strings.Builder
	for _, c := range calls() {
		fmt.Fprintf(&b, "# %s: %s\n", c.name, act.Words(c.action))
		n := c.one(t, &b, 0)
		for from := 1; from <= n; from++ {
			if done := c.one(t, &b, from); done >= from {
				t.Errorf("%s: broken at request %d, and %d were asked", c.name, from, done)
			}
		}
	}
	golden.Compare(t, "calls.golden", b.String())
}
